import FailureArtifactsSQLite
import Foundation
import Testing

@Suite struct CaptureWarningTests {
    private func json(_ warning: CaptureWarning) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(warning), as: UTF8.self)
    }

    private func warning(_ json: String) throws -> CaptureWarning {
        try JSONDecoder().decode(CaptureWarning.self, from: Data(json.utf8))
    }

    @Test func theJSONFormHasAKeyForEachParameter() throws {
        let warning = CaptureWarning(
            .otherWriter, "A text.", ["path": .text("/tmp/a.db"), "process": .number(42), "store": nil])
        let json = #"{"code":"other-writer","path":"/tmp/a.db","process":42,"text":"A text."}"#
        #expect(try self.json(warning) == json)
        #expect(try self.warning(json) == warning)
        #expect(warning.is(.otherWriter) && !warning.is(.halfTransaction))
    }

    @Test func aSentenceOfFormat1_0StaysASentence() throws {
        let warning = try self.warning(#""A text.""#)
        #expect(warning.code == nil && warning.text == "A text." && warning.parameters.isEmpty)
        #expect(try json(warning) == #""A text.""#)
    }

    @Test func unknownCodesAndParametersAreKept() throws {
        let warning = try self.warning(
            #"{"code":"new-kind","text":"A.","many":[1],"none":null,"one":1}"#)
        #expect(warning.code == "new-kind" && warning.parameters == ["one": .number(1)])
    }

    @Test(arguments: ["{}", #"{"code":"a"}"#, "1", "null", #"{"code":1,"text":"a"}"#])
    func withoutASentenceItIsRefused(_ json: String) {
        #expect(throws: DecodingError.self) { try warning(json) }
    }

    @Test func textsOfParametersAreMapped() {
        let warning = CaptureWarning(.otherWriter, "a", ["path": .text("b"), "process": .number(1)])
        #expect(
            warning.mapTexts { $0 + "!" }
                == CaptureWarning(.otherWriter, "a!", ["path": .text("b!"), "process": .number(1)]))
    }

    @Test func theArticleOnTheFormatListsEveryCode() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let article = try String(
            contentsOf: root.appending(
                path: "Sources/FailureArtifacts/Documentation.docc/BundleFormat.md"), encoding: .utf8)
        let section = try #require(article.components(separatedBy: "\n### Warnings\n").dropFirst().first)
        let table = section.components(separatedBy: "\n#")[0]
        let listed = table.split(separator: "\n").compactMap { line in
            line.hasPrefix("| `") ? String(line.split(separator: "`")[1]) : nil
        }
        #expect(listed == CaptureWarning.Code.allCases.map(\.rawValue))
    }
}
