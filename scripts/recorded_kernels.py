"""Triton kernels of the recorded cases; importing it needs Triton (a GPU's PyTorch brings it)."""
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait


@triton.jit
def scale_kernel(x, out, count, factor, rounds, BLOCK: tl.constexpr):
    """out = x * factor, `rounds` times over. Starts before the kernel ahead of it has ended, and waits for that one's writes."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    gdc_wait()
    value = tl.load(x + at, mask=inside)
    for _ in range(rounds):
        value = value * factor
    gdc_launch_dependents()
    tl.store(out + at, value, mask=inside)


def scale(x, factor, rounds):
    """A new tensor, by a kernel launched with programmatic dependent launch (PDL)."""
    out = x.new_empty(x.shape)
    block = 1024
    scale_kernel[(triton.cdiv(x.numel(), block),)](x, out, x.numel(), factor, rounds, BLOCK=block, launch_pdl=True)
    return out
