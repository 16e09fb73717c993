import CofferPlatform
import CofferStorage
import CofferTestSupport
import Foundation
import SystemPackage
import Testing

@testable import CofferVault
@testable import CofferVaultFormat

/// Two places for vaults, and one clock for both.
final class MergedHome {
  let here: TemporaryVault, there: TemporaryVault
  private let clock = Mutable(Date(timeIntervalSince1970: 1_000_000))

  init() throws { (here, there) = (try TemporaryVault(), try TemporaryVault()) }

  var now: Date {
    get { clock.value }
    set { clock.value = newValue }
  }

  func tick() { clock.value += 1 }

  func create() throws -> UnlockedVault { try Self.create(here, clock) }

  func create(at place: TemporaryVault) throws -> UnlockedVault { try Self.create(place, clock) }

  static func create(_ place: TemporaryVault, _ clock: Mutable<Date>) throws -> UnlockedVault {
    UnlockedVault(
      try OpenVault.create(
        at: .file(place.path), with: TemporaryVault.credentials(), cost: nil, label: "", clock: { clock.value }))
  }

  func pair(_ vault: consuming UnlockedVault) throws -> MergedPair {
    let other = try Self.create(there, clock)
    _ = try other.merge(vault)
    return MergedPair(here: vault, there: other)
  }
}

class MergingTests {
  let home: MergedHome
  let ada = ItemName(sealed: "svc", "ada")
  let bob = ItemName(sealed: "svc", "bob")

  init() throws { home = try MergedHome() }
}

final class MergedPair: Sendable {
  let here: UnlockedVault, there: UnlockedVault

  init(here: consuming UnlockedVault, there: consuming UnlockedVault) {
    self.here = here
    self.there = there
  }

  func mergeHere(keeping: Int? = nil, keptUntil date: Date? = .distantFuture) throws -> MergeReport {
    try here.merge(there, keeping: keeping, keptUntil: date)
  }

  func mergeThere() throws -> MergeReport { try there.merge(here) }

  func mergeBoth(isThereFirst: Bool) throws {
    if isThereFirst { _ = try mergeThere() }
    _ = try mergeHere()
    if !isThereFirst { _ = try mergeThere() }
  }

  func expectAlike(isThereFirst: Bool, _ location: SourceLocation = #_sourceLocation) throws {
    try mergeBoth(isThereFirst: isThereFirst)
    #expect(try here.contents() == there.contents(), sourceLocation: location)
  }

  /// Waits until removed values have left both files, by a separate commit that may wait.
  func awaitRemoval(_ location: SourceLocation = #_sourceLocation) throws {
    try eventually("no old bytes remain", at: location) {
      try here.removeOldBytes()
      try there.removeOldBytes()
      return try !here.status().oldBytesRemain && !there.status().oldBytesRemain
    }
  }

  /// Expects that a merge either way makes both alike, that another commits nothing, and that both are sound.
  func expectSettled(_ location: SourceLocation = #_sourceLocation) throws {
    _ = try mergeHere()
    _ = try mergeThere()
    #expect(try here.contents() == there.contents(), sourceLocation: location)
    try awaitRemoval(location)
    let generations = try [here.status().generation, there.status().generation]
    let (first, second) = (try mergeHere(), try mergeThere())
    #expect(first.isEmpty && second.isEmpty, sourceLocation: location)
    #expect(try [here.status().generation, there.status().generation] == generations, sourceLocation: location)
    _ = try (here.verify(), there.verify())
  }
}

extension UnlockedVault {
  /// The known contents of `name`, newest first.
  borrowing func values(_ name: ItemName) throws -> [String] {
    try revisions(of: name).map { text(try get(name, revision: $0.item.revision)) ?? "nothing" }
  }

  borrowing func contents() throws -> [String] {
    var lines: [String] = []
    try forEachItem(withFields: true) { item, form in
      let data = item.metadata
      lines.append("\(item.name): \(text(form) ?? "nothing") \(data.label) \(data.attributes.sorted { $0.key < $1.key })")
    }
    return lines
  }
}
