import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsBundle

@Suite struct PackageSourcesTests {
    /// Passes a directory with two packages, a dependency of the first one, and a link to the first one.
    private func packages(_ body: (String) throws -> Void) throws {
        let root = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "packages-")
        defer { try? FileSystem.remove(root) }
        for package in ["app", "app/.build/checkouts/kit", "other"] {
            try FileSystem.createDirectory("\(root)/\(package)/Tests")
            for name in ["Package.swift", "Tests/A.swift"] {
                try FileSystem.write([], toNewFile: "\(root)/\(package)/\(name)")
            }
        }
        #expect(symlink("app", root + "/link") == 0)
        try body(root)
    }

    @Test(
        arguments: [
            // The package around the working directory.
            ("app/Tests/A.swift", "app", "app"), ("app/Tests/A.swift", "app/Tests", "app"),
            (nil, "app/Tests", "app"), ("app/.build/checkouts/kit/Tests/A.swift", "app", "app"),
            // The package of the failure.
            ("other/Tests/A.swift", "app", "other"), ("app/Tests/A.swift", "", "app"),
            // The compiler was given another spelling of the path.
            ("link/Tests/A.swift", "app", "link"), ("link/Tests/A.swift", "", "link"),
            // No package.
            (nil, "", nil), ("A.swift", "", nil),
        ] as [(String?, String, String?)])
    func roots(_ file: String?, _ directory: String, _ expected: String?) throws {
        try packages { root in
            let found = PackageSources.root(
                ofFailureIn: file.map { root + "/" + $0 }, workingDirectory: root + "/" + directory)
            #expect(found == expected.map { root + "/" + $0 })
        }
    }

    @Test(arguments: ["<EXPR>", "AppTests/A.swift", ""]) func filesWithoutAPath(_ file: String) throws {
        try packages { root in
            #expect(
                PackageSources.root(ofFailureIn: file, workingDirectory: root + "/app") == root + "/app")
            #expect(PackageSources.root(ofFailureIn: file, workingDirectory: "/") == nil)
        }
    }
}
