import Foundation
import Testing

@testable import Feeds

@Suite struct ReaderTests {
    // Expected: entries feed_id=2 guid=n-1; entries feed_id=2 guid=n-2
    @Test func unsubscribedFeedsAreGone() async throws {
        let reader = try await Shelf.reader()
        try await reader.receive("s-2", "Oven spring", at: 1_772_300_000, feed: 3)
        try await reader.unsubscribe(2)
        try await reader.subscribe("https://radio.example.com/rss", "Radio", folder: "Local")
        try await reader.merge([.init(guid: "b-3", note: "later", seconds: 1_772_310_000)])
        try await reader.markRead("s-1")

        #expect(try await reader.unreadCount() == 4)
    }

    // Expected: entries feed_id=1 guid=b-1; entries feed_id=1 guid=b-2; entries feed_id=2 guid=n-1
    @Test func upgradedEntriesHaveDates() async throws {
        let reader = try Shelf.openReader(Shelf.olderStore())
        try await reader.set("theme", #"{"dark":true}"#)
        try await reader.subscribe("https://bread.example.net/feed", "Sourdough", folder: "Food")
        try await reader.receive("s-1", "Rye starter", at: 1_772_900_000, feed: 3)
        try await reader.markRead("b-2")

        let date = try #require(try await reader.date(of: "b-2"))
        #expect(date == Date(timeIntervalSince1970: 1_772_616_600))
    }

    // Expected: entries feed_id=3 guid=s-2
    @Test func newestEntriesComeFirst() async throws {
        let reader = try await Shelf.reader()
        try await reader.receive(
            json: #"{"id": "s-2", "title": "Flour types", "date_published": "2026-01-15T08:00:00Z"}"#,
            feed: 3)
        try await reader.receive("b-5", "Note 5", at: 1_772_500_000, feed: 1)
        try await reader.set("sort", #""newest""#)
        try await reader.markRead("b-2")
        try await reader.merge([.init(guid: "n-1", note: nil, seconds: 1_772_510_000)])

        #expect(try await reader.newestTitles(2) == ["Note 5", "Note 4"])
    }

    // Expected: stars id=2; stars id=4
    @Test func starsOfDevicesAreMerged() async throws {
        let reader = try await Shelf.reader()
        let phone: [Reader.Star] = [
            .init(guid: "b-2", note: "try this", seconds: 1_772_600_000),
            .init(guid: "n-1", note: nil, seconds: 1_772_600_500),
        ]
        try await reader.merge(phone)
        try await reader.merge([.init(guid: "s-1", note: "for Sunday", seconds: 1_772_601_000)])
        try await reader.markRead("n-1")
        try await reader.merge([phone[1], .init(guid: "b-4", note: nil, seconds: 1_772_602_000)])
        try await reader.receive("b-5", "Note 5", at: 1_772_610_000, feed: 1)

        #expect(try await reader.starCount() == 4)
    }

    // Expected: lines
    @Test func mutedFeedsAreHidden() async throws {
        let reader = try Shelf.openReader(Shelf.olderStore())
        try await reader.subscribe("https://bread.example.net/feed", "Sourdough", folder: "Food")
        try await reader.receive("s-1", "Rye starter", at: 1_772_700_000, feed: 3)
        await reader.mute(2)
        try await reader.markRead("s-1")
        try await reader.set("theme", #"{"dark":true}"#)

        #expect(await reader.audibleFeeds() == ["Swift Notes", "Sourdough"])
    }

    // Expected: nothing
    @Test func longTitlesAreShortened() async throws {
        let reader = try await Shelf.reader()
        try await reader.receive("n-3", "The town hall opens on Sunday", at: 1_772_800_000, feed: 2)
        try await reader.markRead("n-3")
        try await reader.markRead("n-3")
        try await reader.set("theme", #"{"dark":true}"#)
        let title = try #require(try await reader.newestTitles(1).first)
        #expect(Rules.shortened(title, to: 13) == "The town hal…")
    }

    // Expected: nothing
    @Test func failingFeedsWait() async throws {
        let reader = try await Shelf.reader()
        for feed in 1...3 { try await reader.receive("x", "Same story", at: 1_772_810_000, feed: feed) }
        try await reader.markRead("x")
        try await reader.set("theme", "null")
        try await reader.set("sort", #""oldest""#)
        #expect(Rules.delay(failures: 3) == 240)
    }

    // Expected: nothing
    @Test func feedsAreFetchedOnce() async throws {
        let reader = try await Shelf.reader()
        try await reader.merge([.init(guid: "b-1", note: nil, seconds: 1_772_820_000)])
        try await reader.markRead("unknown")
        var fetched: [String] = []
        for title in try await reader.newestTitles(5) { fetched.append(String(title.prefix(4))) }
        #expect(fetched.count == Set(fetched).count)
    }
}
