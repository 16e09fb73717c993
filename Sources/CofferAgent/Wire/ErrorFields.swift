internal import CofferPlatform
internal import CofferStorage

/// The text of an error's cause in the agent.
struct AgentCause: Error, Sendable, CustomStringConvertible { let description: String }

extension FrameWriter {
  mutating func put(_ error: StoreError) throws(StoreError) {
    try put(error.kind, error.remedy)
    try put(error.what)
    try put(error.key)
    try put(error.place)
    try put(error.cure)
    try put(error.underlying.map { "\($0)" })
  }

  /// A code, and the data of some kinds: two integers and a text, which is the remedy for the other kinds.
  private mutating func put(_ kind: StoreError.Kind, _ remedy: StoreError.Remedy?) throws(StoreError) {
    var first = 0, second = 0, detail = remedy?.rawValue ?? ""
    switch kind {
    case .tooLarge(let limit): first = limit
    case .undecodable(let stored): detail = stored
    case .newerFormat(let found, let supported): (first, second) = (found, supported)
    case .kdfMemory(let needs, let has): (first, second) = (needs, has)
    case .io(let code): first = Int(code)
    case .pending(let id): detail = id.description
    default: break
    }
    try put(kind.code)
    try put(UInt64(bitPattern: Int64(first)))
    try put(UInt64(bitPattern: Int64(second)))
    try put(detail)
  }
}

extension FrameReader {
  mutating func error() throws(StoreError) -> StoreError {
    let (kind, remedy) = try kind()
    return StoreError(
      kind, try text(), key: try optional(), place: try optional(), cure: try text(),
      underlying: try optional(String.self).map(AgentCause.init), remedy: remedy)
  }

  private mutating func kind() throws(StoreError) -> (StoreError.Kind, StoreError.Remedy?) {
    let number = try number(UInt8.self)
    let first = Int(Int64(bitPattern: try self.number())), second = Int(Int64(bitPattern: try self.number()))
    let detail = try text()
    guard let kind = StoreError.Kind.all.first(where: { $0.code == number }) else {
      throw Self.malformed("it has an unknown kind of error")
    }
    // Nil if unknown to this build: the cure has the advice.
    let remedy = StoreError.Remedy(rawValue: detail)
    switch kind {
    case .tooLarge: return (.tooLarge(limit: first), remedy)
    case .undecodable: return (.undecodable(stored: detail), nil)
    case .newerFormat: return (.newerFormat(found: first, supported: second), remedy)
    case .kdfMemory: return (.kdfMemory(needs: first, has: second), remedy)
    case .io: return (.io(Int32(clamping: first)), remedy)
    case .pending:
      guard let id = Self.transactionID(detail) else { throw Self.malformed("an error names no transaction") }
      return (.pending(id), nil)
    default: return (kind, remedy)
    }
  }

  private static func transactionID(_ digits: String) -> TransactionID? {
    let nibbles = digits.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard nibbles.count == 32 else { return nil }
    return TransactionID(stride(from: 0, to: 32, by: 2).map { UInt8(nibbles[$0] << 4 | nibbles[$0 + 1]) })
  }
}
