import CofferTestSupport
import Foundation
import Testing

/// `coffer rename work/ old/` is killed at its system calls that change files, and the command after it too. All items have
/// the old names or all the new ones, every value is readable, the vault is intact, and the rename can be repeated.
///
/// Short by default; with `COFFER_LONG_TESTS` at every call for few items, and at some for 10 000.
@Suite(.tags(.campaign, .kill, .process), .wholeRun)
struct FolderKillCampaign {
  private static let calls = "pwrite64,fsync,fdatasync,ftruncate,linkat,?unlink,unlinkat,?rename,renameat2,write"

  private struct Item: Codable, Equatable {
    let service: String, account: String, value: String

    static func all(_ count: Int, below folder: String) -> [Item] {
      (0..<count).map { Item(service: "\(folder)/s\($0 % 7)", account: "\($0)", value: "v\($0)") }
    }
  }

  private struct Export: Decodable { let items: [Item] }

  /// The folder that has all items.
  private func folder(_ home: Home, _ count: Int, _ what: String) throws -> String {
    #expect(try home.coffer("vault verify").status == 0, "\(what)")
    let answer = try home.coffer("export --reveal")
    let items = try JSONDecoder().decode(Export.self, from: answer.bytes).items
      .sorted { Int($0.account) ?? 0 < Int($1.account) ?? 0 }
    let folder = String(items.first?.service.split(separator: "/").first ?? "")
    #expect(items == Item.all(count, below: folder) && ["work", "old"].contains(folder), "\(what): \(items.count) in \(folder)")
    return folder
  }

  @Test(arguments: [(40, 4, 1_000), (Campaign.size(short: 400, long: 10_000), 2, 60)])
  func `wherever a folder's rename is killed, twice too, all names are old or all are new`(
    count: Int, short: Int, long: Int
  ) throws {
    let home = try Home.withVault()
    let items = String(decoding: try JSONEncoder().encode(Item.all(count, below: "work")), as: UTF8.self)
    #expect(try home.coffer("import -q --from json -", in: Data(items.utf8)).status == 0)
    let words = [Home.coffer, "rename", "work/", "old/"]
    let places = try home.calls(Self.calls, of: words)
    try home.transcript("rename old/ work/")
    var outcomes: [String: Int] = [:]
    for index in stride(from: 0, to: places.count, by: max(1, places.count / Campaign.size(short: short, long: long))) {
      // The second death is at the call that is as far from the end.
      for place in [places[index], places[places.count - 1 - index]] {
        let isKilled = try home.program(place.killer + words)?.status == 128 + SIGKILL
        outcomes["\(isKilled ? "killed" : "ended"), \(try folder(home, count, "\(place)"))", default: 0] += 1
      }
      let isDone = try folder(home, count, "before the repetition") == "old"
      #expect(try home.coffer("rename work/ old/").status == (isDone ? 1 : 0), "\(places[index])")
      #expect(try folder(home, count, "after the repetition") == "old", "\(places[index])")
      try home.transcript("rename old/ work/")
    }
    print("folder of \(count) items: \(places.count) calls, \(outcomes.sorted { $0.key < $1.key })")
    #expect(outcomes["killed, work", default: 0] > 0)
  }
}
