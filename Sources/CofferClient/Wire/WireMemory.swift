/// Memory for messages, which may hold secrets: locked, wiped, and with the errors of one side.
package protocol WireMemory: ~Copyable, Sendable {
  associatedtype WireFailure: CofferClient.WireFailure
  /// `count` zero bytes.
  static func zeros(_ count: Int) throws(WireFailure) -> Self
  var count: Int { get }
  borrowing func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result
  mutating func withUnsafeMutableBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result
}

/// The error type of one side of the socket.
package protocol WireFailure: Error {
  init(_ error: WireError)
  /// A refused system call, `doing` something at `place`.
  static func system(_ code: Int32, _ doing: String, place: String) -> Self
}

extension WireFailure {
  package static func malformed(_ why: String) -> Self { Self(.malformed(why)) }
}

/// An error as it crosses the socket.
package struct WireError: Sendable, Equatable, Codable {
  /// The kind's number.
  package var code: UInt8
  /// Data of some kinds. For the others, `detail` is the remedy.
  package var first: Int = 0, second: Int = 0, detail: String = ""
  package var what: String, key: String?, place: String?, cure: String, cause: String?

  package init(
    code: UInt8, _ what: String, key: String? = nil, place: String? = nil, cure: String, cause: String? = nil,
    first: Int = 0, second: Int = 0, detail: String = ""
  ) {
    (self.code, self.first, self.second, self.detail) = (code, first, second, detail)
    (self.what, self.key, self.place, self.cure, self.cause) = (what, key, place, cure, cause)
  }
}

extension WireError {
  static func malformed(_ why: String) -> WireError {
    WireError(
      code: 21, "a message between agent and client is malformed: \(why)", cure: "use one version of Coffer for both",
      detail: "oneVersion")
  }

  static func otherVersion(_ found: UInt8) -> WireError {
    WireError(
      code: 26, "the agent and its client speak different versions of their protocol",
      cure: "end the agent, and start one of this version", first: Int(found),
      second: Int(AgentProtocol.version), detail: "restartAgent")
  }

  /// An agent's answer to a call that it does not know.
  package static func unknownCall(_ number: UInt8) -> WireError {
    WireError(
      code: 34, "the agent does not know call \(number); its highest is \(AgentProtocol.highestCall)",
      cure: "end the agent, and start one of a newer version", detail: "restartAgent")
  }

  static func tooManyNames(_ count: Int) -> WireError {
    WireError(
      code: 5, "\(count) items in one request to the agent",
      cure: "ask for fewer at once, or unlock the vault in this process", first: AgentProtocol.mostNames)
  }

  static let tooLargeMessage = WireError(
    code: 5, "more than the agent takes in one piece", cure: "make smaller transactions, or unlock the vault in this process",
    first: AgentProtocol.largestBody)
}

// A client's errors about an absent or silent agent.
extension WireError {
  static func absent(_ place: String) -> WireError {
    WireError(
      code: 39, "no agent is running", place: place, cure: "start one and unlock it, or unlock the vault in this process",
      detail: "startAgent")
  }

  static func silent(_ place: String, _ cause: String) -> WireError {
    WireError(
      code: 28, "the agent does not answer", place: place, cure: "end the agent and start another, or leave it out",
      cause: cause, detail: "replaceAgent")
  }

  static func unknown(_ place: String, _ cause: String) -> WireError {
    WireError(
      code: 33, "the agent did not answer: the change may or may not have been made", place: place,
      cure: "check whether it was made, then try again", cause: cause)
  }
}

extension WireWriter where Memory: ~Copyable {
  package mutating func put(_ error: WireError) throws(Memory.WireFailure) {
    try put(error.code)
    try put(UInt64(bitPattern: Int64(error.first)))
    try put(UInt64(bitPattern: Int64(error.second)))
    try put(error.detail)
    try put(error.what)
    try put(optional: error.key)
    try put(optional: error.place)
    try put(error.cure)
    try put(optional: error.cause)
  }
}

extension WireReader {
  package mutating func wireError() throws(Failure) -> WireError {
    let code = try number(UInt8.self)
    let first = Int(Int64(bitPattern: try number())), second = Int(Int64(bitPattern: try number()))
    let detail = try text()
    return WireError(
      code: code, try text(), key: try optionalText(), place: try optionalText(), cure: try text(), cause: try optionalText(),
      first: first, second: second, detail: detail)
  }
}
