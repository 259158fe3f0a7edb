internal import FailureArtifactsSystem

extension Report {
    /// Writes beside a file, and then in its place: nobody sees half a page.
    func write(toFile output: String) throws {
        let name = ".\(Path.name(of: output)).\(ProcessEnvironment.processID)"
        let part = Path.join(Path.directory(of: output), name)
        do {
            let file = try File(creating: part, permissions: 0o644)
            var offset: UInt64 = 0
            try write { text in
                let bytes = Array(text.utf8)
                try bytes.withBytes { (buffer) throws(SystemError) in try file.write(buffer, at: offset)
                }
                offset += UInt64(bytes.count)
            }
            try file.close()
            try FileSystem.rename(part, to: output)
        } catch {
            try? FileSystem.remove(part)
            throw error
        }
    }
}
