internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// The manual page, in the language of `mdoc(7)` (<https://mandoc.bsd.lv/man/mdoc.7.html>).
struct ManualPage {
    let commands: [Syntax]

    var text: String {
        """
        .Dd \(ToolVersion.date)
        .Dt FAILURE-ARTIFACTS 1
        .Os
        .Sh NAME
        .Nm failure-artifacts
        .Nd run tests and read the SQLite stores of those that failed
        .Sh SYNOPSIS
        \(commands.map { Self.usage(of: $0, name: ".Nm\n") }.joined(separator: "\n"))
        .Sh DESCRIPTION
        \(Self.paragraph("""
            Runs tests, and reads the bundles that failing tests leave: zip files with the SQLite stores as they \
            were at the failure. Results go to standard output, everything else to standard error.
            """))
        .Sh COMMANDS
        .Bl -tag -width Ds
        \(commands.map(Self.description).joined(separator: "\n"))
        .El
        .Sh ENVIRONMENT
        .Bl -tag -width Ds
        \(Self.variables.map { ".It Ev \($0.name)\n" + Self.paragraph($0.meaning) }.joined(separator: "\n"))
        .El
        .Sh EXIT STATUS
        .Bl -tag -width Ds
        \(Self.statuses.map { ".It \($0.status)\n" + Self.paragraph($0.meaning) }.joined(separator: "\n"))
        .El
        .Pp
        .Cm run
        and
        .Cm open
        exit with the status of the program that they ran.
        .Sh EXAMPLES
        Run tests, and make bundles for those that fail, crash or hang:
        .Pp
        .Dl failure\\-artifacts run \\-\\-timeout 20m \\-\\- swift test \\-\\-parallel
        .Pp
        List the latest failures first, and open the store of one of them:
        .Pp
        .Dl failure\\-artifacts list \\-\\-sort \\-time failure\\-artifacts
        .Dl failure\\-artifacts open failure\\-artifacts/1a2b3c4d
        .Sh SEE ALSO
        .Xr sqlite3 1 ,
        .Xr unzip 1

        """
    }

    private static let variables: [(name: String, meaning: String)] = [
        (
            "FAILURE_ARTIFACTS_DIR",
            "The directory for bundles; by default failure-artifacts in the working directory. If it can't be "
                + "written, bundles go to failure-artifacts in the temporary directory."
        ),
        ("NO_COLOR", "If it isn't empty, the output has no colors."),
        ("TMPDIR", "The directory for scratch copies; by default /tmp."),
    ]

    private static let statuses: [(status: Int, meaning: String)] = [
        (0, "Done."), (1, "The check found something."), (64, "Wrong usage."),
        (65, "A malformed file."), (66, "No such file."), (74, "An input or output error."),
    ]

    // MARK: - Parts

    private static func usage(of syntax: Syntax, name: String) -> String {
        var lines = [name + ".Cm " + syntax.command]
        for group in syntax.optionGroups {
            let words = group.map { flags($0, separator: " | ") }.joined(separator: " | ")
            lines.append((group.contains(where: \.isRequired) ? "." : ".Op ") + words)
        }
        for positional in syntax.positionals {
            let dots = positional.isRepeated ? " ..." : ""
            lines.append((positional.isOptional ? ".Op Ar " : ".Ar ") + positional.name + dots)
        }
        if let rest = syntax.rest {
            let others = syntax.restAlternatives.map { flags($0, separator: " | ") }
            let words = (others + ["Fl - Ar \(rest.name) ..."]).joined(separator: " | ")
            lines.append((!syntax.needsRest ? ".Op " : others.isEmpty ? "." : ".Pq ") + words)
        }
        return lines.joined(separator: "\n")
    }

    /// Returns text such as `Fl o | -output Ar DIR`.
    ///
    /// The macro adds the first dash.
    private static func flags(_ option: Syntax.Option, separator: String) -> String {
        let names = (option.short.map { [$0] } ?? []) + [option.name]
        return "Fl " + names.map { String($0.dropFirst()) }.joined(separator: separator + "Fl ")
            + (option.value.map { " Ar " + $0 } ?? "")
    }

    private static func description(of syntax: Syntax) -> String {
        var lines = [".It Xo", usage(of: syntax, name: ""), ".Xc", paragraph(syntax.summary + ".")]
        var items = syntax.positionals.map { (".It Ar " + $0.name, $0.help) }
        if let rest = syntax.rest { items.append((".It Ar " + rest.name, rest.help)) }
        items += syntax.options.filter { $0.name != "--help" }
            .map { (".It " + flags($0, separator: " , "), $0.help) }
        if !items.isEmpty {
            lines.append(".Bl -tag -width Ds")
            lines += items.map { $0.0 + "\n" + paragraph($0.1) }
            lines.append(".El")
        }
        for text in syntax.discussion.split(separator: "\n\n") {
            lines += [".Pp", paragraph(String(text))]
        }
        return lines.joined(separator: "\n")
    }

    /// Returns text with one sentence per line, as mdoc requires.
    private static func paragraph(_ text: String) -> String {
        var sentences: [String] = []
        var sentence = ""
        for word in text.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            sentence += (sentence.isEmpty ? "" : " ") + word
            if let last = word.last, ".!?".contains(last) {
                sentences.append(sentence)
                sentence = ""
            }
        }
        if !sentence.isEmpty { sentences.append(sentence) }
        return sentences.flatMap { TextWrap.lines(of: $0, width: 72, indent: 0) }
            .map(escaped).joined(separator: "\n")
    }

    /// Escapes a line so that it contains no macro requests and its dashes can be copied.
    private static func escaped(_ line: String) -> String {
        var result = ""
        var previous: Character = " "
        for character in line {
            switch character {
            case "\\": result += "\\e"
            case "-": result += previous.isLetter ? "-" : "\\-"
            default:
                if character.isASCII {
                    result.append(character)
                } else {
                    for scalar in character.unicodeScalars {
                        let digits = String(scalar.value, radix: 16, uppercase: true)
                        result +=
                            "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
                            + "]"
                    }
                }
            }
            previous = character
        }
        return result.hasPrefix(".") || result.hasPrefix("'") ? "\\&" + result : result
    }
}
