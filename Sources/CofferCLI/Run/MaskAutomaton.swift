internal import Coffer
internal import CofferStorage

/// Finds any number of secrets in one pass over a stream: the automaton of Aho and Corasick ("Efficient String Matching: An
/// Aid to Bibliographic Search", CACM 18/6, 1975).
///
/// A state is a beginning of a secret with which the stream ends. The bytes of transitions are in guarded memory; the links
/// outside it reveal no byte of a secret.
final class MaskAutomaton: Sendable {
  /// The states in the order of the secrets' bytes, the empty beginning first.
  struct State {
    /// The state of the longest other beginning that this one ends with.
    var fallback: Int32 = 0
    /// The first child of this state, and the next child of its parent; 0 for none.
    var child: Int32 = 0
    var sibling: Int32 = 0
    /// Bytes of the longest secret that this beginning ends with; 0 for none.
    var match: Int32 = 0
    /// Bytes of the beginning.
    var depth: Int32 = 0
    /// The index of the table of all transitions, if there are many; -1 for none.
    var table: Int32 = -1
  }

  /// States with more children use a table: it has a kilobyte, and a chain of a few states is smaller.
  private static let mostSiblings = 4
  private static let tableBytes = 256 * MemoryLayout<Int32>.stride

  private let states: [State]
  private let labels: SecretForm
  private let tables: SecretForm
  /// A bit for each pair of bytes that begins a secret. Outside secrets these bits alone skip the stream, for any number of
  /// secrets.
  private let beginnings: SecretForm
  /// Bytes of the longest secret.
  let longest: Int

  init(_ secrets: [SecretForm]) throws {
    let size = secrets.reduce(1) { $0 + $1.bytes.count }
    var states = [State()]
    states.reserveCapacity(size)
    var labels = try SecretBytes(zeros: size)
    labels.withUnsafeMutableBytes { labels in
      for secret in secrets { secret.bytes.withUnsafeBytes { Self.add($0, &states, labels) } }
      Self.connect(&states, UnsafeRawBufferPointer(labels))
    }
    self.tables = SecretForm(try labels.withUnsafeBytes { try Self.tables(&states, $0) })
    self.labels = SecretForm(labels)
    beginnings = SecretForm(try Self.beginnings(secrets))
    self.states = states
    longest = secrets.map { $0.bytes.count }.max() ?? 0
  }

  /// - Parameter found: called with the index of a secret's last byte among `bytes`, and its length. If several end there,
  ///   it is the longest, which covers the others.
  /// - Returns: the state, and the number of last bytes that may still become a secret.
  func advance(_ state: Int32, _ bytes: UnsafeRawBufferPointer, found: (Int, Int) -> Void) -> (state: Int32, open: Int) {
    states.withUnsafeBufferPointer { states in
      labels.bytes.withUnsafeBytes { labels in
        tables.bytes.withUnsafeBytes { tables in
          beginnings.bytes.withUnsafeBytes { beginnings in
            var state = state
            var index = 0
            while index < bytes.count {
              if state == 0 { index = Self.nextBeginning(bytes, from: index, beginnings) }
              state = Self.step(state, bytes[index], states, labels, tables)
              defer { index += 1 }
              guard state != 0 else { continue }
              let match = states[Int(state)].match
              if match > 0 { found(index, Int(match)) }
              // A complete secret without longer ones waits for nothing, and its end may begin the next one.
              while states[Int(state)].child == 0, state != 0 { state = states[Int(state)].fallback }
            }
            return (state, Int(states[Int(state)].depth))
          }
        }
      }
    }
  }

  /// The first position from `start` on with two bytes that begin a secret; otherwise the last one, as its second byte is to
  /// come.
  @inline(__always)
  private static func nextBeginning(
    _ bytes: UnsafeRawBufferPointer, from start: Int, _ beginnings: UnsafeRawBufferPointer
  ) -> Int {
    guard let first = bytes.baseAddress, let bits = beginnings.baseAddress else { return start }
    var at = start
    let last = bytes.count - 1
    while at < last {
      let (one, two) = (first.load(fromByteOffset: at, as: UInt8.self), first.load(fromByteOffset: at + 1, as: UInt8.self))
      let pair = Int(one) << 8 | Int(two)
      if bits.load(fromByteOffset: pair >> 3, as: UInt8.self) >> UInt8(pair & 7) & 1 != 0 { break }
      at += 1
    }
    return at
  }

  @inline(__always)
  private static func step(
    _ state: Int32, _ byte: UInt8, _ states: UnsafeBufferPointer<State>, _ labels: UnsafeRawBufferPointer,
    _ tables: UnsafeRawBufferPointer
  ) -> Int32 {
    var state = state
    while true {
      let next = child(of: states[Int(state)], byte, states, labels, tables)
      if next != 0 || state == 0 { return next }
      state = states[Int(state)].fallback
    }
  }

  @inline(__always)
  private static func child(
    of state: State, _ byte: UInt8, _ states: UnsafeBufferPointer<State>, _ labels: UnsafeRawBufferPointer,
    _ tables: UnsafeRawBufferPointer
  ) -> Int32 {
    guard state.table < 0 else {
      return tables.load(fromByteOffset: Int(state.table) * tableBytes + Int(byte) * MemoryLayout<Int32>.stride, as: Int32.self)
    }
    var next = state.child
    while next != 0, labels[Int(next)] != byte { next = states[Int(next)].sibling }
    return next
  }

  // MARK: Making

  private static func beginnings(_ secrets: [SecretForm]) throws -> SecretBytes {
    var bits = try SecretBytes(zeros: 65_536 / 8)
    bits.withUnsafeMutableBytes { bits in
      for secret in secrets {
        secret.bytes.withUnsafeBytes { raw in
          guard let first = raw.first else { return }
          // Any byte may follow a secret of a single byte.
          let seconds = raw.count > 1 ? raw[1]...raw[1] : 0...255
          for second in seconds {
            let pair = Int(first) << 8 | Int(second)
            bits[pair >> 3] |= 1 << UInt8(pair & 7)
          }
        }
      }
    }
    return bits
  }

  private static func add(_ secret: UnsafeRawBufferPointer, _ states: inout [State], _ labels: UnsafeMutableRawBufferPointer) {
    var state = 0
    for byte in secret {
      var next = Int(states[state].child)
      while next != 0, labels[next] != byte { next = Int(states[next].sibling) }
      if next == 0 {
        next = states.count
        labels[next] = byte
        states.append(State(sibling: states[state].child, depth: states[state].depth + 1))
        states[state].child = Int32(next)
      }
      state = next
    }
    states[state].match = Int32(secret.count)
  }

  /// Finds the fallbacks, shorter beginnings first, as the longer ones need theirs.
  private static func connect(_ states: inout [State], _ labels: UnsafeRawBufferPointer) {
    var queue: [Int] = [0]
    var at = 0
    while at < queue.count {
      let parent = queue[at]
      at += 1
      var next = Int(states[parent].child)
      while next != 0 {
        var fallback = parent
        var found = 0
        while found == 0, fallback != 0 {
          fallback = Int(states[fallback].fallback)
          found = Int(states[fallback].child)
          while found != 0, labels[found] != labels[next] { found = Int(states[found].sibling) }
        }
        states[next].fallback = Int32(found)
        if states[next].match == 0 { states[next].match = states[found].match }
        queue.append(next)
        next = Int(states[next].sibling)
      }
    }
  }

  private static func children(of state: Int, _ states: [State]) -> [Int32] {
    var children: [Int32] = []
    var next = states[state].child
    while next != 0 {
      children.append(next)
      next = states[Int(next)].sibling
    }
    return children
  }

  private static func tables(_ states: inout [State], _ labels: UnsafeRawBufferPointer) throws -> SecretBytes {
    let wide = states.indices.filter { $0 == 0 || children(of: $0, states).count > mostSiblings }
    var tables = try SecretBytes(zeros: wide.count * tableBytes)
    tables.withUnsafeMutableBytes { tables in
      for (number, state) in wide.enumerated() {
        for child in children(of: state, states) {
          let offset = number * tableBytes + Int(labels[Int(child)]) * MemoryLayout<Int32>.stride
          tables.storeBytes(of: child, toByteOffset: offset, as: Int32.self)
        }
        states[state].table = Int32(number)
      }
    }
    return tables
  }
}
