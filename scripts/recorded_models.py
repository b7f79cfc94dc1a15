"""Small models that the recorded cases train."""
import torch
import torch.distributed as dist
from torch import nn


class Missing(Exception):
    """Why a case cannot run here."""


# ---- models: a stack of blocks, so that communication can hide behind the backward pass

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Stack(nn.Sequential):
    def __init__(self, run, blocks=None):
        super().__init__(*(Block(run.width) for _ in range(blocks or run.layers)))
        self.to(run.device)


def train(model, optimizer, x):
    optimizer.zero_grad(set_to_none=True)
    model(x).square().mean().backward()
    optimizer.step()


def average_gradients(model, group=None):
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad, group=group)
        parameter.grad /= dist.get_world_size(group)
