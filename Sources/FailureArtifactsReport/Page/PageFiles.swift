internal import CFailureArtifactsFunctions
internal import FailureArtifactsAnalysis

/// The style and the script of the page: the files of the folder `Web`, which are built into the tool.
enum PageFiles {
    static let style = String(decoding: PackageResources.page_css, as: UTF8.self)

    /// The script, whose files share one scope.
    static let script =
        "(() => {\n\"use strict\";\n" + scripts.map { String(decoding: $0, as: UTF8.self) }.joined()
        + "})();\n"

    private static let scripts = [
        PackageResources.blocks_js, PackageResources.cells_js, PackageResources.states_js,
        PackageResources.list_js, PackageResources.timeline_js, PackageResources.grid_js,
        PackageResources.step_js, PackageResources.story_js, PackageResources.main_js,
    ]

    /// The policy of the page, which loads nothing and runs only its own script and style: their hashes are in it
    /// (<https://www.w3.org/TR/CSP3/#grammardef-hash-source>).
    static let policy =
        "default-src 'none'; style-src 'sha256-\(hash(of: style))'; "
        + "script-src 'sha256-\(hash(of: script))'; img-src data:; base-uri 'none'; form-action 'none'"

    private static func hash(of text: String) -> String {
        let bytes = Array(text.utf8)
        var hash = [UInt8](repeating: 0, count: 32)
        failure_artifacts_sha256(bytes, bytes.count, &hash)
        return JSONText.base64(hash)
    }
}
