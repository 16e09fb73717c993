package import CofferClient
package import CofferPlatform
internal import CofferStorage
internal import CofferVaultFormat

/// The text of an error's cause in the agent.
struct AgentCause: Error, Sendable, CustomStringConvertible { let description: String }

extension FrameWriter {
  mutating func put(_ error: StoreError) throws(StoreError) { try put(WireError(error)) }
}

extension FrameReader {
  mutating func error() throws(StoreError) -> StoreError { StoreError(try wireError()) }
}

extension WireError {
  /// A code, and the data of some kinds: two integers and a text, which is the remedy for the other kinds.
  init(_ error: StoreError) {
    self.init(
      code: error.kind.code, error.what, key: error.key, place: error.place, cure: error.cure,
      cause: error.underlying.map { "\($0)" }, detail: error.remedy?.rawValue ?? "")
    switch error.kind {
    case .tooLarge(let limit): first = limit
    case .undecodable(let stored): detail = stored
    case .newerFormat(let found, let supported): (first, second) = (found, supported)
    case .kdfMemory(let needs, let has): (first, second) = (needs, has)
    case .io(let code): first = Int(code)
    case .pending(let id): detail = id.description
    default: break
    }
  }

  /// Nil for a kind that this build does not know.
  fileprivate var kind: StoreError.Kind? {
    guard let kind = StoreError.Kind.all.first(where: { $0.code == code }) else { return nil }
    switch kind {
    case .tooLarge: return .tooLarge(limit: first)
    case .undecodable: return .undecodable(stored: detail)
    case .newerFormat: return .newerFormat(found: first, supported: second)
    case .kdfMemory: return .kdfMemory(needs: first, has: second)
    case .io: return .io(Int32(clamping: first))
    case .pending: return Hex.bytes(detail).flatMap { TransactionID($0) }.map { .pending($0) }
    default: return kind
    }
  }
}

extension StoreError {
  package init(_ error: WireError) {
    guard let kind = error.kind else {
      self = .malformed("it has an unknown kind of error, or an error without its data")
      return
    }
    // An unknown remedy is dropped: the cure has the advice.
    self.init(
      kind, error.what, key: error.key, place: error.place, cure: error.cure,
      underlying: error.cause.map(AgentCause.init), remedy: Remedy(rawValue: error.detail))
  }
}
