internal import CFailureArtifactsShared
internal import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The images through which the stacks of a process can be followed.
///
/// The walk of a stack goes from frame pointer to frame pointer. Where a function doesn't keep one, what follows may be
/// wrong. The images listed here keep them; other libraries are left out.
package struct LoadedImages: Codable, Equatable, Sendable {
    /// The executable, the libraries beside it, and those of the toolchain.
    package let images: [LoadedImage]
    package let workingDirectory: String
    /// The starts and ends of the images, in their order, and their bases.
    private let (bounds, bases): ([UInt64], [UInt64])

    private enum CodingKeys: CodingKey {
        case images, workingDirectory
    }

    package init(images: [LoadedImage], workingDirectory: String) {
        (self.images, self.workingDirectory) = (images, workingDirectory)
        (bounds, bases) = (images.flatMap { [$0.start, $0.end] }, images.map(\.base))
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            images: try values.decode([LoadedImage].self, forKey: .images),
            workingDirectory: try values.decode(String.self, forKey: .workingDirectory))
    }

    /// The images of this process.
    ///
    /// It takes the dynamic linker's lock, so a callback of SQLite must not use it.
    package static var current: LoadedImages {
        var all: [LoadedImage] = []
        withUnsafeMutablePointer(to: &all) { pointer in
            failure_artifacts_each_image(pointer) { context, image in
                guard let image, let path = image.pointee.path else { return }
                context?.assumingMemoryBound(to: [LoadedImage].self).pointee.append(
                    LoadedImage(
                        path: String(cString: path), base: image.pointee.base,
                        start: image.pointee.start, end: image.pointee.end))
            }
        }
        let products = Path.directory(of: all.first?.path ?? "") + "/"
        all.removeAll { !$0.path.hasPrefix(products) && !$0.isOfToolchain }
        for index in all.indices {
            all[index].modified = FileSystem.regularFile(all[index].path)?.modified
        }
        return LoadedImages(images: all, workingDirectory: Path.currentDirectory)
    }

    /// The images of this process as a line of JSON.
    ///
    /// They are listed again only after a library was loaded. May be used from any thread.
    package static var currentJSON: String {
        let count = failure_artifacts_loaded_images()
        if let (known, json) = latest.withLock({ $0 }), known == count { return json }
        let json = current.json
        latest.withLock { $0 = (count, json) }
        return json
    }

    private static let latest = Lock<(UInt64, String)?>(nil)

    /// The images as a line of JSON.
    package var json: String {
        // Strings and numbers can always be encoded.
        (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// Returns the index of the image with the call that returns to an address.
    func indexOfImage(ofCallBefore address: UInt64) -> Int? {
        let index = failure_artifacts_range_of(address, bounds, bases.count)
        return index < bases.count ? index : nil
    }

    /// Returns the address in the file of the image with the call that returns to an address; nil outside of all images.
    func fileAddress(ofCallBefore address: UInt64) -> UInt64? {
        indexOfImage(ofCallBefore: address).map { address &- bases[$0] }
    }
}

extension LoadedImages {
    /// Parses JSON; nil if it describes no images.
    init?(json: [UInt8]) {
        guard let images = try? JSONDecoder().decode(LoadedImages.self, from: Data(json)) else {
            return nil
        }
        self = images
    }
}
