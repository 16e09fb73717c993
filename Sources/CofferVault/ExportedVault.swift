package import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat
internal import CofferVaultRows
package import SystemPackage

/// The content of a name for an export, even if expired.
package enum StoredContent: Sendable {
  case absent
  /// Made by another program: Coffer's own items always have a value.
  case withoutValue
  case form(SecretForm)
}

package enum ExportedVault {
  /// Makes a vault with the items that `fill` adds and counts. On a server it is visible without items, opened by
  /// `credentials` alone, until they are there; this machine then remembers it in `pins`.
  static func make(
    at target: VaultPlace, of vault: VaultPlace, with credentials: consuming Credentials, cost: PassphraseCost, label: String,
    pins: FilePath?, _ fill: (OpenVault) throws(StoreError) -> Int
  ) throws(StoreError) -> Int {
    guard let file = target.path else {
      let made = try OpenVault.create(at: target, with: credentials, cost: cost, label: label)
      do throws(StoreError) {
        let count = try fill(made)
        made.watchCreated(in: pins)
        made.view.database.close()
        return count
      } catch {
        made.view.database.discard()
        throw error
      }
    }
    let copy = try NewCopy.begin(for: file, of: vault.path)
    var given = Optional(credentials)
    let count = try copy.making { (draft) throws(StoreError) in
      let made = try OpenVault.create(at: .file(draft), with: given.take() ?? Credentials(), cost: cost, label: label)
      let count = try fill(made)
      try made.view.database.removeOldBytes(rewriting: false)
      made.view.database.close()
      return count
    }
    try copy.publish()
    return count
  }

  /// Makes a vault from items of another reader, such as an agent.
  ///
  /// - Parameters:
  ///   - found: the descriptions of the items, then of their fields.
  ///   - contents: reads the content of some names.
  ///   - check: called before the new vault gets its name; throws if the reads were not of one moment.
  package static func make(
    at target: VaultPlace, of vault: VaultPlace, with credentials: consuming Credentials, cost: PassphraseCost, label: String,
    pins: FilePath?, _ found: [ItemDescriptions], contents: ([ItemName]) throws(StoreError) -> [StoredContent],
    check: () throws(StoreError) -> Void
  ) throws(StoreError) -> Int {
    return try make(at: target, of: vault, with: credentials, cost: cost, label: label, pins: pins) { (made) throws(StoreError) in
      let metas = try metas(of: found)
      try made.write { (target, change) throws(StoreError) in
        for batch in TransferBatches(metas, bytes: { $0.valueCount ?? 0 }) {
          let names = batch.map { ItemName(sealed: $0.service, $0.account, field: $0.field) }
          for (index, content) in try contents(names).enumerated() {
            guard case .form(let form) = content else { throw ItemTable.withoutValue(names[index], vault) }
            _ = try target.items.adopt(
              batch[batch.startIndex + index], form.bytes, at: target.items.target(names[index], &change), &change)
          }
        }
      }
      try check()
      return metas.count(where: \.field.isEmpty)
    }
  }

  private static func metas(of found: [ItemDescriptions]) throws(StoreError) -> [RecordMeta] {
    var metas: [RecordMeta] = []
    var seen: Set<ItemID> = []
    for found in found {
      for position in 0..<found.count {
        let meta = try found.meta(at: position)
        // A service may be asked for twice.
        if seen.insert(meta.id).inserted { metas.append(meta) }
      }
    }
    return metas
  }

  package static func noItems(of service: String, _ vault: VaultPlace) -> StoreError {
    StoreError(
      .notFound, "no item belongs to this service", key: service, place: vault.description, cure: "check its spelling")
  }
}

/// Elements in batches: few enough for a message, and enough to be worth an exchange.
package struct TransferBatches<Element>: Sequence {
  private let elements: [Element]
  private let bytes: (Element) -> Int

  private static var most: Int { 1024 }
  private static var mostBytes: Int { 1 << 20 }

  /// - Parameter bytes: the approximate size of an element.
  package init(_ elements: [Element], bytes: @escaping (Element) -> Int) {
    self.elements = elements
    self.bytes = bytes
  }

  package func makeIterator() -> AnyIterator<ArraySlice<Element>> {
    var rest = elements[...]
    return AnyIterator {
      var (count, total) = (0, 0)
      for element in rest.prefix(Self.most) {
        total += bytes(element)
        guard count == 0 || total <= Self.mostBytes else { break }
        count += 1
      }
      defer { rest = rest.dropFirst(count) }
      return count == 0 ? nil : rest.prefix(count)
    }
  }
}
