import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsSQLite

/// Defects that `Scripts/fuzz` found.
@Suite struct HostileHistoryTests {
    /// Returns a trunk page of a freelist.
    private func trunk(next: UInt32, _ leaves: [UInt32]) -> [UInt8] {
        let bytes = ([next, UInt32(leaves.count)] + leaves).flatMap { number in
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        }
        return bytes + [UInt8](repeating: 0, count: 512 - bytes.count)
    }

    /// Leaf 0, which a damaged store can contain, was read as a page and trapped in the test's own process.
    @Test(arguments: [0, 1, 21, UInt32.max, 3]) func leavesThatAreNone(_ leaf: UInt32) throws {
        var header = DatabaseHeader.magic + [UInt8](repeating: 0, count: 496)
        header[35] = 2
        let pages: [UInt32: [UInt8]] = [
            1: header, 2: trunk(next: 4, [3, leaf, 5]), 4: trunk(next: 0, [6]),
        ]
        let leaves = Freelist(databaseSize: 20) { page in pages[page] }.leaves
        #expect(leaves == [3])
    }

    @Test func leavesAndTrunks() throws {
        var header = DatabaseHeader.magic + [UInt8](repeating: 0, count: 496)
        header[35] = 2
        let pages: [UInt32: [UInt8]] = [1: header, 2: trunk(next: 4, [3, 5]), 4: trunk(next: 1, [20])]
        let leaves = Freelist(databaseSize: 20) { page in pages[page] }.leaves
        #expect(leaves == [3, 5, 20])
    }

    /// A circular list of trunks was read as often as the database claims to have pages.
    @Test(arguments: [2, 4]) func trunksThatComeBack(_ next: UInt32) throws {
        var header = DatabaseHeader.magic + [UInt8](repeating: 0, count: 496)
        header[35] = 2
        let pages: [UInt32: [UInt8]] = [1: header, 2: trunk(next: 4, []), 4: trunk(next: next, [])]
        var reads = 0
        let leaves = Freelist(databaseSize: .max) { page in
            reads += 1
            return reads > 1000 ? nil : pages[page]
        }.leaves
        #expect(leaves.isEmpty && reads == 3)
    }

    /// A few bytes made a file of up to 256 TiB, which takes no disk space but is counted and read.
    @Test(arguments: [0, 1]) func aStateOfManyPages(_ state: Int) throws {
        try withTemporaryDirectory { directory in
            let page = [UInt8](repeating: 0, count: 512)
            for (size, isRefused) in [(5, false), (6, true), (UInt32.max, true)] as [(UInt32, Bool)] {
                let layout = HistoryLayout(
                    pageSize: 512, initialSize: state == 0 ? size : 1, transactionCount: 2,
                    initialPageCount: 1, changedPageCount: 2)
                let numbers: [UInt32] = [1, state == 1 ? size : 1, 1, 1, 1, 1, 1]
                let path = directory + "/history"
                try? FileSystem.remove(path)
                try FileSystem.write(
                    layout.header + HistoryLayout.bytes(of: numbers) + page + page + page,
                    toNewFile: path)
                guard isRefused else {
                    #expect(try HistoryReader(path: path).databaseSize(of: state) == size)
                    continue
                }
                let error = #expect(throws: BundleError.self) { _ = try HistoryReader(path: path) }
                #expect(error?.description.contains("state \(state) has \(size) pages") == true)
            }
        }
    }
}
