"""A reader of WAL files and history files that shares no code with the Swift reader.

The first follows https://www.sqlite.org/fileformat2.html#the_write_ahead_log, the second the article on the bundle
format in the documentation catalogue.
"""

import struct


def checksum(data, order, state):
    first, second = state
    for left, right in struct.iter_unpack(order + "II", data):
        first = (first + left + second) & 0xFFFFFFFF
        second = (second + right + first) & 0xFFFFFFFF
    return first, second


def frames(path):
    """Returns the valid frames of a WAL: (page, database size after a commit or 0, offset of the page)."""
    data = open(path, "rb").read()
    if len(data) < 32:
        return None, []
    magic, _, page_size, _ = struct.unpack(">4I", data[:16])
    order = ">" if magic & 1 else "<"
    state = checksum(data[:24], order, (0, 0))
    assert state == struct.unpack(">2I", data[24:32])
    result = []
    offset = 32
    while offset + 24 + page_size <= len(data):
        page, size = struct.unpack(">2I", data[offset:offset + 8])
        if data[offset + 8:offset + 16] != data[16:24]:
            break
        state = checksum(data[offset:offset + 8], order, state)
        state = checksum(data[offset + 24:offset + 24 + page_size], order, state)
        if state != struct.unpack(">2I", data[offset + 16:offset + 24]):
            break
        result.append((page, size, offset + 24))
        offset += 24 + page_size
    return data[16:24], result


def swap_checksums(path):
    """Rewrites a WAL with checksums in the other byte order."""
    data = bytearray(open(path, "rb").read())
    _, valid = frames(path)
    magic, _, page_size, _ = struct.unpack(">4I", data[:16])
    order = "<" if magic & 1 else ">"
    data[:4] = struct.pack(">I", magic ^ 1)
    state = checksum(data[:24], order, (0, 0))
    data[24:32] = struct.pack(">2I", *state)
    for _, _, offset in valid:
        state = checksum(data[offset - 24:offset - 16], order, state)
        state = checksum(data[offset:offset + page_size], order, state)
        data[offset - 8:offset] = struct.pack(">2I", *state)
    open(path, "wb").write(data)


def meaningful(image):
    """Returns page 1, or a file, without the fields that a copy changes: change counter, schema cookie, versions."""
    return image[:24] + image[28:40] + image[44:92] + image[100:]


class History:
    """A history file, read according to its documentation."""

    def __init__(self, path):
        self.data = open(path, "rb").read()
        assert self.data[:8] == b"WAL-hist"
        version, self.page_size, initial_size, count = struct.unpack_from("<4I", self.data, 8)
        assert version == 1
        initial_pages, changed_pages = struct.unpack_from("<2Q", self.data, 24)
        assert self.data[40:64] == bytes(24)
        offset = 64
        images = offset + 4 * initial_pages + 8 * count + 4 * changed_pages
        self.initial = {}
        for page in struct.unpack_from("<%dI" % initial_pages, self.data, offset):
            assert page not in self.initial
            self.initial[page] = self.data[images:images + self.page_size]
            images += self.page_size
        offset += 4 * initial_pages
        sizes = list(struct.iter_unpack("<2I", self.data[offset:offset + 8 * count]))
        offset += 8 * count
        self.sizes = [initial_size] + [size for size, _ in sizes]
        self.transactions = []
        for _, pages in sizes:
            transaction = {}
            for page in struct.unpack_from("<%dI" % pages, self.data, offset):
                assert page not in transaction
                transaction[page] = self.data[images:images + self.page_size]
                images += self.page_size
            offset += 4 * pages
            self.transactions.append(transaction)
        assert images == len(self.data)

    def rebuild(self, state, copy):
        """Returns the store's bytes after `state` transactions, from the bytes of the copy of the last state."""
        size = self.sizes[state]
        pages = {}
        if state < len(self.transactions):
            pages.update(self.initial)
            for transaction in self.transactions[:state]:
                pages.update(transaction)
        result = bytearray(copy.ljust(size * self.page_size, b"\0")[:size * self.page_size])
        for page, image in pages.items():
            if page <= size:
                result[(page - 1) * self.page_size:page * self.page_size] = image
        result[18:20] = b"\1\1"
        return bytes(result)
