internal import FailureArtifactsBundle
internal import FailureArtifactsReading

extension Timeline {
    /// Returns the other test that ran some statements; nil if the failing test ran one of them, or if there are none.
    func otherTest(of statements: [Statement]) -> OtherTest? {
        guard let last = statements.last, !statements.contains(where: \.isOfTest) else { return nil }
        let (own, number) = (bundle.metadata.test, last.record.test)
        let known = bundle.metadata.tests?.first { $0.id == number }
        // The log names the only running test for a thread that an earlier one has left.
        let isOwn =
            known?.suite == own.suite && known?.name == own.name && known?.arguments == own.arguments
        return OtherTest(
            suite: isOwn ? store.openedBy?.suite : known?.suite,
            name: isOwn ? store.openedBy?.name : known?.name,
            time: last.record.phase == .earlier ? .before : .meanwhile,
            connection: last.record.connection)
    }

    /// Returns the other test that ran a transaction; nil if it is one of the failing test.
    func otherTest(of step: Step) -> OtherTest? {
        guard step.isOfOtherTest else { return nil }
        return otherTest(of: step.statements)
            ?? OtherTest(suite: nil, name: nil, time: .before, connection: nil)
    }
}
