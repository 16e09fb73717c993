internal import CofferVault

/// The numbers of the agent's protocol: see the article "The agent".
package enum AgentProtocol {
  /// The version of the protocol that this build speaks, the first byte of every frame's body.
  static let version: UInt8 = 9

  /// Bytes of a frame's body, at most: a transaction of four of the largest values with their descriptions. More in guarded
  /// memory than `RLIMIT_MEMLOCK` usually lets a process lock would only end in swap.
  static let largestBody = 4 * (VaultItem.largestValue + 64 * 1024)

  /// Bytes of a body that are allocated at once. More memory is taken as the bytes arrive, so that a peer has to send all that it
  /// makes the agent hold.
  static let trustedBody = 16 * 1024

  /// Bytes after which a page of a listing is sent and the next begun: the capacity of a block of guarded memory from a slab.
  static let pageBytes = 15 * 1024

  /// Names or changes in one request, at most: each costs a look-up, and while one request is answered the vault serves no other.
  /// So many items took 90 ms to read and up to 190 ms to change, measured through an agent of a debug build on two busy cores.
  static let mostNames = 4096

  /// Bytes of values that one request is answered with, at most: sixteen of the largest. They are all in guarded memory before
  /// the first is sent, as they are of one moment.
  static let mostLoaded = 16 * VaultItem.largestValue

  /// Bytes of items that wait to be added, those of all clients together, at most: as many as a file to import has.
  static let mostStagedBytes = 64 << 20

  /// Items that are added in one transaction, at most: the vault serves nobody else meanwhile, for 4 s of processor time.
  static let mostStaged = 100_000

  /// The requests.
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
  }

  /// The answers.
  enum Answer: UInt8 {
    /// The answer, or its last page.
    case done = 0
    /// A page of the answer; another frame follows.
    case more = 1
    /// The request failed; the body is an error.
    case failed = 2
  }
}
