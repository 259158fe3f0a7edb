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
        .Nd read the SQLite stores that failing tests have left
        .Sh SYNOPSIS
        \(commands.map { Self.usage(of: $0, name: ".Nm\n") }.joined(separator: "\n"))
        .Sh DESCRIPTION
        \(Self.paragraph("""
            Runs tests and reads the bundles that they leave when they fail: the SQLite stores as they were at \
            the failure, in a zip that any unzip opens. Results go to standard output, all else to standard \
            error.
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
        exit with the status of what they have run.
        .Sh EXAMPLES
        Run tests, and leave bundles of those that fail, crash or hang:
        .Pp
        .Dl failure\\-artifacts run \\-\\-timeout 20m \\-\\- swift test \\-\\-parallel
        .Pp
        Look at the latest failures, and into the store of one of them:
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
            "Where bundles go; by default failure-artifacts in the working directory. If that can't be written, they "
                + "go to failure-artifacts in the temporary directory."
        ),
        (
            "FAILURE_ARTIFACTS_CACHE",
            "Where large stores that were taken out are kept for the next time: a directory, or off."
        ),
        ("NO_COLOR", "Not empty: no colours."),
        ("TMPDIR", "Where scratch copies are made; by default /tmp."),
    ]

    private static let statuses: [(status: Int, meaning: String)] = [
        (0, "Done."), (1, "The check found something."), (64, "The command line makes no sense."),
        (65, "A file is not what it should be."), (66, "There is no such file."),
        (74, "Reading or writing failed."),
    ]

    // MARK: - Parts

    private static func usage(of syntax: Syntax, name: String) -> String {
        var lines = [name + ".Cm " + syntax.command]
        for option in syntax.options where option.name != "--help" {
            lines.append(".Op " + flags(option, separator: " | "))
        }
        for positional in syntax.positionals {
            let dots = positional.isRepeated ? " ..." : ""
            lines.append((positional.isOptional ? ".Op Ar " : ".Ar ") + positional.name + dots)
        }
        if let rest = syntax.rest {
            let words = "Fl - Ar \(rest.name) ..."
            lines.append(syntax.needsRest ? "." + words : ".Op " + words)
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
