import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

/// Runs the tool under Python, which controls signals, terminals and pipes as a shell does.
enum Driver {
    /// The code that precedes each program.
    ///
    /// After two minutes, an alarm ends everything.
    private static let prelude = """
        import fcntl, os, pty, select, signal, struct, subprocess, sys, termios, time
        signal.alarm(120)
        # The thread of a test may have them blocked, and what it starts inherits that.
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        tool, folder = sys.argv[1:3]
        os.chdir(folder)
        python = sys.executable

        def run(*arguments, **options):
            return subprocess.Popen([tool, "run", *arguments], **options)

        def state(number):
            try:
                with open(f"/proc/{number}/stat") as file:
                    return file.read().rsplit(")", 1)[1].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                return None

        def lives(number):
            return state(number) not in (None, "Z", "X")

        def until(condition):
            while not condition():
                time.sleep(0.002)

        def read_fifo(name):
            with open(name) as fifo:
                return fifo.read()

        # Names the signals it gets, each when it comes; SIGUSR2 ends it.
        with open("reporter.py", "w") as file:
            file.write('''
        import os, signal, sys
        names = ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "WINCH"]
        watched = {getattr(signal, "SIG" + name): name for name in names}
        signal.pthread_sigmask(signal.SIG_BLOCK, watched)
        os.write(1, b"ready %d" % os.getpid() + chr(10).encode())
        while True:
            name = watched[signal.sigwait(watched)]
            if name == "USR2":
                sys.exit(9)
            os.write(1, name.encode() + chr(10).encode())
        ''')

        class Reporter:
            "The tool with a reporter, at a pipe."
            def __init__(self, *arguments, **options):
                self.tool = run(*arguments, "--", python, "reporter.py", stdout=subprocess.PIPE,
                                text=True, **options)
                self.number = int(self.line().split()[1])
            def line(self):
                return self.tool.stdout.readline().rstrip()

        class Terminal:
            "A command at a terminal of its own, in the foreground."
            def __init__(self, *command):
                self.number, self.master = pty.fork()
                if self.number == 0:
                    os.execv(command[0], command)
                self.text = ""
            def type(self, text):
                os.write(self.master, text.encode())
            def read_until(self, text):
                while text not in self.text:
                    try:
                        data = os.read(self.master, 65536)
                    except OSError:
                        data = b""
                    if not data:
                        raise SystemExit("The terminal ended with " + repr(self.text))
                    self.text += data.decode()
                found, self.text = self.text.split(text, 1)
                return found
            def wait(self, options=0):
                status = os.waitpid(self.number, options)[1]
                if os.WIFSTOPPED(status):
                    return "stopped"
                return os.waitstatus_to_exitcode(status)


        """

    /// Runs a program that uses the functions above.
    ///
    /// - Returns: The program's output.
    static func run(
        _ program: String, in directory: String, location: SourceLocation = #_sourceLocation
    ) throws -> String {
        // The program is in a file, so that processes it leaves behind don't keep a pipe open.
        let script = directory + "/driver.py"
        try FileSystem.write(Array((prelude + program + "\n").utf8), toNewFile: script)
        let outcome = try Program.run(
            "/usr/bin/env", ["python3", script, Program.tool, directory], environment: Self.environment)
        #expect(outcome.status == 0, "\(outcome.error)", sourceLocation: location)
        #expect(outcome.error.isEmpty, sourceLocation: location)
        return outcome.output
    }

    /// Clears variables that would change the tool's behaviour.
    private static let environment = ["FAILURE_ARTIFACTS_DIR": "", "PYTHONUTF8": "1"]
}
