internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

enum LocalTime {
    /// Returns a time in the local time zone, such as `Nov 21 07:08:09`; the unchanged text for an invalid one.
    static func text(_ time: String) -> String {
        guard let milliseconds = MetadataTime.milliseconds(of: time) else { return SafeText.line(time) }
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        guard localtime_r(&seconds, &parts) != nil else { return SafeText.line(time) }
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%b %d %H:%M:%S", &parts)
        return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
