"""Reads the flight recorder's file by its documented layout, without the package's code (see recorder.h)."""

import dataclasses
import struct

PAGE, CHUNK = 4 << 10, 32 << 10
CONNECTION, TEXT, STACK, STATEMENT, ERROR, END, VALUES, REPEATED = range(1, 9)


@dataclasses.dataclass
class Statement:
    order: int
    ticks: int
    thread: int
    changes: int
    sql: str
    addresses: tuple
    end: tuple = ()


class Recorder:
    def __init__(self, path):
        self.bytes = path.read_bytes()
        header = struct.unpack_from("<8s4I6q2Q", self.bytes)
        magic, version, tests_size, chunk_count, clock, *pairs, tests_length, _ = header
        assert magic == b"FARECORD" and version == 3, "The file is not a recorder of this version."
        assert tests_length <= tests_size and clock in (1, 2), "The header is wrong."
        assert PAGE + tests_size + chunk_count * CHUNK <= len(self.bytes), "The file is too short."
        self.first, self.last = pairs[:2], pairs[2 * clock:2 * clock + 2]
        # The statements of each connection.
        self.connections = {}
        for number in range(chunk_count):
            self.read_chunk(PAGE + tests_size + number * CHUNK)
        for statements in self.connections.values():
            statements.sort(key=lambda statement: statement.order)

    def read_chunk(self, start):
        generation, connection, used = struct.unpack_from("<QQI", self.bytes, start)
        if generation == 0 or connection == 0:
            return
        assert generation % 2 == 0 and 32 <= used <= CHUNK, f"The chunk at {start} is wrong."
        texts, stacks, statements, offset = {}, {}, {}, 32
        while offset < used:
            length, kind, _, _ = struct.unpack_from("<IBBH", self.bytes, start + offset)
            assert length >= 8 and offset + length <= used, f"The record at {start + offset} is wrong."
            content = self.bytes[start + offset + 8:start + offset + length]
            if kind == TEXT:
                texts[offset] = content.decode()
            elif kind == STACK:
                stacks[offset] = struct.unpack(f"<{len(content) // 8}Q", content)
            elif kind == STATEMENT:
                order, ticks, thread, changes, _, text, stack = struct.unpack_from("<QQQIIII", content)
                assert stack == 0 or stack in stacks, f"The statement at {start + offset} has no such stack."
                statements[order] = Statement(order, ticks, thread, changes, texts[text], stacks.get(stack, ()))
            elif kind == END:
                order, ticks, changes = struct.unpack_from("<QQq", content)
                # The start may be in the chunk before.
                if order in statements:
                    statements[order].end = (ticks, changes)
            elif kind == REPEATED:
                # It stands for others that were dropped.
                statements.pop(struct.unpack_from("<Q", content)[0])
            else:
                assert kind in (CONNECTION, ERROR, VALUES), f"The record at {start + offset} has an unknown kind."
            offset += (length + 7) & ~7
        self.connections.setdefault(connection, []).extend(statements.values())

    def nanoseconds(self, ticks):
        """Converts ticks to nanoseconds since 1970, as RecorderClock does."""
        length = (self.last[1] - self.first[1]) / (self.last[0] - self.first[0])
        return self.last[1] + (ticks - self.last[0]) * length
