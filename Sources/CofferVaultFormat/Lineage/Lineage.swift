/// The secrets of a vault's earlier epochs in its sealed header, which prove that the header's writer knew the earlier keys.
/// A view of opened bytes, which must outlive it.
package struct Lineage {
  /// The maximum number of entries, which take 40 KiB. Each rotation adds one: weekly rotations fill the list in twenty years.
  static let most = 1_024
  static let secretBytes = 32
  private static let entryBytes = 8 + secretBytes

  /// e of each entry, ascending.
  private let epochs: [UInt64]
  /// LE64 e ‖ L_e of each entry.
  private let entries: UnsafeRawBufferPointer

  static var none: Lineage { Lineage(epochs: [], entries: .noBytes) }

  private init(epochs: [UInt64], entries: UnsafeRawBufferPointer) {
    self.epochs = epochs
    self.entries = entries
  }

  package init(from reader: inout ByteReader, before epoch: UInt64) throws(FormatError) {
    let count = Int(try reader.number(UInt32.self))
    guard count <= Self.most else { throw reader.damaged("it lists \(count) epochs") }
    var fields = reader
    entries = try reader.take(count * Self.entryBytes)
    var epochs: [UInt64] = []
    epochs.reserveCapacity(count)
    for _ in 0..<count {
      let found = try fields.counter("epoch")
      guard found > epochs.last ?? 0, found < epoch else {
        throw reader.damaged("its epochs are not in order, or not before its own")
      }
      epochs.append(found)
      _ = try fields.take(Self.secretBytes)
    }
    self.epochs = epochs
  }

  var count: Int { epochs.count }

  /// An older epoch may have been dropped for lack of room.
  private var isFull: Bool { count == Self.most }

  private func mark(of epoch: UInt64, vault: VaultSalt) -> EpochMark? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if epochs[middle] < epoch { low = middle + 1 } else { high = middle }
    }
    guard low < count, epochs[low] == epoch else { return nil }
    let at = low * Self.entryBytes + 8
    return EpochMark(of: entries.part(at..<at + Self.secretBytes), vault: vault, epoch: epoch)
  }

  /// Checks that the key `own` of `vault`, under which this list was sealed, descends from the key of each anchor.
  ///
  /// An anchor below the lowest entry of a full list proves nothing. A higher anchor that holds is enough, because its source
  /// opened the vault later.
  ///
  /// If several anchors fail, the error follows the order of the format's table: another vault, an older key, a fork, an anchor
  /// that is too old.
  ///
  /// - Throws: ``FormatError/contradicted(_:)``.
  func check(_ anchors: [Anchor], vault: VaultSalt, own: EpochMark) throws(FormatError) {
    for anchor in anchors where anchor.vault != vault { throw .contradicted(anchor, .replaced) }
    for anchor in anchors where anchor.key.epoch > own.epoch { throw .contradicted(anchor, .rolledBack(found: own.epoch)) }
    var undecided: Anchor?
    var holds = false
    for anchor in anchors {
      if isFull, anchor.key.epoch < epochs[0] {
        if !anchor.mayBeTooOld { undecided = anchor }
        continue
      }
      let found = anchor.key.epoch == own.epoch ? own : mark(of: anchor.key.epoch, vault: vault)
      guard let found, found.names(anchor.key) else { throw .contradicted(anchor, .forked) }
      holds = true
    }
    if let undecided, !holds { throw .contradicted(undecided, .tooOld(most: Self.most)) }
  }
}

extension Lineage {
  /// A new header's list: that of the header before it, and the secret of that header's epoch if the key changed.
  package struct Next {
    private let before: Lineage
    private let epoch: UInt64
    /// L of `epoch`; nil if the key stays.
    private let secret: UnsafeRawBufferPointer?

    /// For a vault's first header.
    package static var first: Next { Next(.none, epoch: 0, secret: nil) }

    package init(_ before: Lineage, epoch: UInt64, secret: UnsafeRawBufferPointer?) {
      self.before = before
      self.epoch = epoch
      self.secret = secret
    }

    private var entryCount: Int { min(Lineage.most, before.count + (secret == nil ? 0 : 1)) }
    var byteCount: Int { 4 + entryCount * Lineage.entryBytes }

    func write(to out: inout ByteWriter) {
      out.write(UInt32(truncatingIfNeeded: entryCount))
      let kept = entryCount - (secret == nil ? 0 : 1)
      // The lowest is dropped.
      out.write(before.entries.part((before.count - kept) * Lineage.entryBytes..<before.entries.count))
      guard let secret else { return }
      out.write(epoch)
      out.write(secret)
    }
  }
}
