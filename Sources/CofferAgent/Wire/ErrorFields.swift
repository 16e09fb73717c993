internal import CofferPlatform
internal import CofferStorage

/// The cause of an error in the agent, as its text.
struct AgentCause: Error, Sendable, CustomStringConvertible { let description: String }

extension FrameWriter {
  mutating func put(_ error: StoreError) throws(StoreError) {
    try put(error.kind)
    try put(error.what)
    try put(error.key)
    try put(error.place)
    try put(error.cure)
    try put(error.underlying.map { "\($0)" })
  }

  /// A number, and what three kinds carry: two integers and a text.
  private mutating func put(_ kind: StoreError.Kind) throws(StoreError) {
    var first = 0, second = 0, detail = ""
    switch kind {
    case .tooLarge(let limit): first = limit
    case .undecodable(let stored): detail = stored
    case .newerFormat(let found, let supported): (first, second) = (found, supported)
    case .kdfMemory(let needs, let has): (first, second) = (needs, has)
    case .io(let code): first = Int(code)
    case .pending(let id): detail = id.description
    default: break
    }
    try put(kind.number)
    try put(UInt64(bitPattern: Int64(first)))
    try put(UInt64(bitPattern: Int64(second)))
    try put(detail)
  }
}

extension FrameReader {
  mutating func error() throws(StoreError) -> StoreError {
    let kind = try kind()
    return StoreError(
      kind, try text(), key: try optionalText(), place: try optionalText(), cure: try text(),
      underlying: try optionalText().map(AgentCause.init))
  }

  private mutating func kind() throws(StoreError) -> StoreError.Kind {
    let number = try number(UInt8.self)
    let first = Int(Int64(bitPattern: try self.number())), second = Int(Int64(bitPattern: try self.number()))
    let detail = try text()
    switch number {
    case 5: return .tooLarge(limit: first)
    case 8: return .undecodable(stored: detail)
    case 16:
      guard let id = Self.transactionID(detail) else { throw Self.malformed("an error names no transaction") }
      return .pending(id)
    case 26: return .newerFormat(found: first, supported: second)
    case 27: return .kdfMemory(needs: first, has: second)
    case 32: return .io(Int32(clamping: first))
    default:
      guard let kind = StoreError.Kind.plain.first(where: { $0.number == number }) else {
        throw Self.malformed("it has an unknown kind of error")
      }
      return kind
    }
  }

  private static func transactionID(_ digits: String) -> TransactionID? {
    let nibbles = digits.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard nibbles.count == 32 else { return nil }
    return TransactionID(stride(from: 0, to: 32, by: 2).map { UInt8(nibbles[$0] << 4 | nibbles[$0 + 1]) })
  }
}

extension StoreError.Kind {
  /// The kinds that carry nothing.
  fileprivate static let plain: [StoreError.Kind] = [
    .invalidName, .undeclared, .duplicateKey, .refused, .reentrant, .closed, .unencodable, .expired, .clockBehind, .notFound,
    .alreadyExists, .ambiguous, .conflict, .locked, .wrongSecret, .noVault, .notAVault, .damaged, .tampered, .rolledBack, .forked,
    .replaced, .busy, .denied, .readOnly, .noSpace, .outcomeUnknown,
  ]

  /// The number of a kind in the protocol. Without `default`: a new kind needs a number before it compiles.
  fileprivate var number: UInt8 {
    switch self {
    case .invalidName: 1
    case .undeclared: 2
    case .duplicateKey: 3
    case .refused: 4
    case .tooLarge: 5
    case .reentrant: 6
    case .closed: 7
    case .undecodable: 8
    case .unencodable: 9
    case .expired: 10
    case .clockBehind: 11
    case .notFound: 12
    case .alreadyExists: 13
    case .ambiguous: 14
    case .conflict: 15
    case .pending: 16
    case .locked: 17
    case .wrongSecret: 18
    case .noVault: 19
    case .notAVault: 20
    case .damaged: 21
    case .tampered: 22
    case .rolledBack: 23
    case .forked: 24
    case .replaced: 25
    case .newerFormat: 26
    case .kdfMemory: 27
    case .busy: 28
    case .denied: 29
    case .readOnly: 30
    case .noSpace: 31
    case .io: 32
    case .outcomeUnknown: 33
    }
  }
}
