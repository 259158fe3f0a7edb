import Foundation
import GRDB
import Stores
import XCTest

@testable import Podcasts

class PodcastsTestCase: StoreTestCase {
    func podcasts() throws -> Podcasts {
        let podcasts = try Podcasts(StoreKind.current.writer(path("podcasts.sqlite")))
        for title in ["Birds", "Trains", "Trains of Japan"] { try podcasts.follow(title) }
        let episodes = [
            ("Dippers", 1, 35), ("Wrens", 1, 28), ("Narrow gauge", 2, 51), ("Kiha 40", 3, 44),
            ("Night trains", 2, 62),
        ]
        for (title, podcast, minutes) in episodes {
            try podcasts.add(title, to: podcast, minutes: minutes)
        }
        return podcasts
    }
}

final class PodcastsTests: PodcastsTestCase {
    // Expected: podcast id=3
    func testEpisodesOfAllPodcasts() throws {
        let podcasts = try podcasts()
        try podcasts.hide("Trains")
        XCTAssertEqual(try podcasts.titles(), ["Dippers", "Kiha 40", "Wrens"])
    }

    // Expected: episode id=2; episode id=5
    func testNewEpisodesAreCounted() throws {
        let podcasts = try podcasts()
        try podcasts.play("Narrow gauge")
        XCTAssertEqual(try podcasts.newEpisodes().count, 4)
    }

    // Expected: episode id=4
    func testEpisodesAreSorted() throws {
        let podcasts = try podcasts()
        try podcasts.rename("Kiha 40", to: "Zuiun")
        XCTAssertEqual(
            try podcasts.titles(), ["Dippers", "Narrow gauge", "Night trains", "Wrens", "Zuiun"])
    }

    // Expected: download id=1; download id=3
    func testDownloadsSurviveTheUpgrade() throws {
        let podcasts = try podcasts()
        for episode in 1...3 { try podcasts.download(episode, bytes: 1000 * episode) }
        try podcasts.run("UPDATE episode SET state = 'played' WHERE id = 2")
        try Podcasts.migrator.migrate(podcasts.database)
        try podcasts.download(5, bytes: 5000)
        XCTAssertEqual(try podcasts.downloads(), [1000, 2000, 3000, 5000])
    }
}
