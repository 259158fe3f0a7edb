/// Bundles of one failure, by its fingerprint.
package struct BundleCause: Sendable {
    /// In the order they were given; never empty.
    package private(set) var bundles: [ResultBundle]

    /// The one that is told of.
    package var first: ResultBundle { bundles[0] }

    /// Groups bundles, in the order of each cause's first.
    package static func causes(of bundles: [ResultBundle]) -> [BundleCause] {
        var causes: [BundleCause] = []
        var places: [String: Int] = [:]
        for bundle in bundles {
            // A bundle of a program that gives no fingerprint is one of its own.
            if !bundle.fingerprint.isEmpty, let place = places[bundle.fingerprint] {
                causes[place].bundles.append(bundle)
            } else {
                places[bundle.fingerprint] = causes.count
                causes.append(BundleCause(bundles: [bundle]))
            }
        }
        return causes
    }
}
