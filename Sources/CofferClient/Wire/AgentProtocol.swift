/// The numbers of the agent's protocol: see the article "The agent's protocol". Calls are only added.
package enum AgentProtocol {
  /// The protocol's version, the first byte of every frame's body.
  package static let version: UInt8 = 11

  /// The most bytes of a value, as of a vault.
  package static let largestValue = 2 << 20

  /// The most bytes of a frame's body: four of the largest values with their descriptions. More guarded memory would exceed
  /// the usual `RLIMIT_MEMLOCK`, and end in swap.
  package static let largestBody = 4 * (largestValue + 64 * 1024)

  /// Bytes of a body allocated at once. The rest is allocated as bytes arrive: a peer must send whatever the agent holds.
  package static let trustedBody = 16 * 1024

  /// The size after which a page of a listing is sent: a block of guarded memory from a slab.
  package static let pageBytes = 15 * 1024

  /// The most names or changes in a request, during which the vault serves no other. A debug build on two busy cores took
  /// 90 ms to read so many, and up to 190 ms to change them.
  package static let mostNames = 4096

  /// The most bytes of values in an answer: sixteen of the largest. They show one moment, so all are in guarded memory before
  /// the first is sent.
  package static let mostLoaded = 16 * largestValue

  /// The most bytes of items to add, for all clients together: the limit of an imported file.
  package static let mostStagedBytes = 64 << 20

  /// The most items added in one transaction, which occupies the vault for 4 s of processor time.
  package static let mostStaged = 100_000

  /// The most bytes in all pages of an answer, which a client holds: twice the descriptions that an agent keeps.
  package static let largestAnswer = 128 << 20

  /// The highest call, which the answer to *greet* names.
  package static let highestCall: UInt8 = Request.allCases.map(\.rawValue).max() ?? 0

  package enum Request: UInt8, CaseIterable {
    case greet = 1
    case status = 2
    case unlock = 3
    case lock = 4
    case stop = 5
    case get = 10
    case item = 11
    case find = 12
    case apply = 13
    case delete = 14
    case fields = 15
    case verify = 16
    case log = 17
    case describe = 18
    case contents = 19
    case revisions = 30
    case revision = 31
    case deleted = 32
    case revert = 33
    case undelete = 34
    case prune = 35
    case stage = 36
    case add = 37
    case rehearse = 38
    case load = 20
    case contains = 21
    case names = 22
    case commit = 23
    case forget = 24
    case version = 25
    case marked = 26
    case watch = 40
    case keys = 50
    case use = 51
    case allow = 52
    case put = 53
    case drop = 54
    case uses = 55
    case sync = 60
  }

  package enum Answer: UInt8 {
    /// The answer, or its last page.
    case done = 0
    /// A page; another frame follows.
    case more = 1
    /// The request failed; the body is an error.
    case failed = 2
  }
}
