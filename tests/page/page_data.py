"""The data of an index.html, its tables as rows. Whole numbers are packed as src/report/page_data/packed_numbers.h says."""
import json

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def unpack(text):
    out, bits, factor, is_count = [], 0, 1, False
    for letter in text:
        if letter == ".":
            out.append(None)
        elif letter == "*":
            is_count = True
        else:
            place = LETTERS.index(letter)
            bits += place % 32 * factor
            factor *= 32
            if place >= 32:
                continue
            number = -(bits + 1) // 2 if bits % 2 else bits // 2
            out += [out[-1]] * number if is_count else [number]
            bits, factor, is_count = 0, 1, False
    return out


def pack(numbers):
    """Without runs, which readers do not need."""
    text = ""
    for number in numbers:
        if number is None:
            text += "."
            continue
        rest = -2 * number - 1 if number < 0 else 2 * number
        while True:
            text += LETTERS[rest % 32 + (32 if rest >= 32 else 0)]
            rest //= 32
            if rest == 0:
                break
    return text


def column(values):
    if isinstance(values, str):
        return unpack(values)
    return values if isinstance(values, list) else [None if at is None else values["of"][at] for at in unpack(values["at"])]


def packed_column(values):
    return pack(values) if all(value is None or type(value) is int for value in values) else values


class Page:
    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.begin = self.text.index('id="data">') + len('id="data">')
        self.end = self.text.index("</script>", self.begin)
        self.data = json.loads(self.text[self.begin:self.end])

    def rows(self, table):
        return [list(row) for row in zip(*map(column, self.data["tables"][table]["values"]))]

    def set_rows(self, table, rows):
        self.data["tables"][table].update(values=[packed_column(list(values)) for values in zip(*rows)], count=len(rows))

    def write(self):
        self.path.write_text(self.text[:self.begin] + json.dumps(self.data).replace("<", "\\u003c") + self.text[self.end:])
