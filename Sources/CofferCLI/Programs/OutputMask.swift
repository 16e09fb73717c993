internal import Coffer

/// Replaces secrets in a stream, wherever the chunks of it begin and end.
///
/// Every secret is looked for by an automaton of Knuth, Morris and Pratt, which tells after each byte how much of the secret the
/// stream ends with. What could still become part of a match is held back, and nothing more. Where secrets overlap, every byte of each
/// is covered.
struct OutputMask: ~Copyable {
  static let mark = "<masked>"
  /// A shorter secret stands in most output by chance, and masking it would only tell where.
  static let shortest = 4

  /// A secret and how far its beginnings repeat within it.
  final class Pattern: Sendable {
    let form: SecretForm
    let fallbacks: [Int]

    init(_ form: SecretForm) {
      self.form = form
      fallbacks = form.bytes.withUnsafeBytes { secret in
        var table = [Int](repeating: 0, count: secret.count + 1)
        var matched = 0
        for index in secret.indices.dropFirst() {
          while matched > 0, secret[index] != secret[matched] { matched = table[matched] }
          if secret[index] == secret[matched] { matched += 1 }
          table[index + 1] = matched
        }
        return table
      }
    }

    /// What is matched after `byte`, where `matched` bytes were before it.
    func step(_ matched: Int, _ byte: UInt8) -> Int {
      form.bytes.withUnsafeBytes { secret in
        var matched = matched == secret.count ? fallbacks[matched] : matched
        while matched > 0, secret[matched] != byte { matched = fallbacks[matched] }
        return secret[matched] == byte ? matched + 1 : 0
      }
    }
  }

  private let patterns: [Pattern]
  private var matched: [Int]
  private var held: SecretBytes
  private var isCovered: [Bool]
  private var count = 0
  private var isInsideMark = false

  /// - Parameter chunk: bytes that are taken in at once, at most.
  init(_ patterns: [Pattern], chunk: Int) throws(SecretMemoryError) {
    self.patterns = patterns
    matched = patterns.map { _ in 0 }
    let capacity = chunk + (patterns.map { $0.form.bytes.count }.max() ?? 0)
    held = try SecretBytes(zeros: capacity)
    isCovered = [Bool](repeating: false, count: capacity)
    self.chunk = chunk
  }
  private let chunk: Int

  /// Takes in what `read` writes to its buffer, and hands on what is certain.
  ///
  /// - Returns: what `read` returned: a number of bytes, 0 at the end, less for an error.
  mutating func take(
    _ read: (UnsafeMutableRawBufferPointer) -> Int, _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) -> Int {
    let (start, size) = (count, chunk)
    let got = held.withUnsafeMutableBytes { read(UnsafeMutableRawBufferPointer(rebasing: $0[start..<start + size])) }
    guard got > 0 else { return got }
    for index in start..<start + got { look(at: index) }
    count += got
    try release(count - (matched.max() ?? 0), write)
    return got
  }

  /// Hands on what was held back: the stream has ended, and it is no secret.
  mutating func finish(_ write: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
    try release(count, write)
  }

  private mutating func look(at index: Int) {
    let byte = held.withUnsafeBytes { $0[index] }
    for (number, pattern) in patterns.enumerated() {
      matched[number] = pattern.step(matched[number], byte)
      guard matched[number] == pattern.form.bytes.count else { continue }
      for covered in index + 1 - matched[number]...index { isCovered[covered] = true }
      // Whole, so nothing of it waits; its end may begin the next one.
      matched[number] = pattern.fallbacks[matched[number]]
    }
  }

  private mutating func release(_ size: Int, _ write: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
    var start = 0
    while start < size {
      let end = isCovered[start..<size].firstIndex(of: !isCovered[start]) ?? size
      if isCovered[start] {
        if !isInsideMark { try Self.mark.utf8Span.span.bytes.withUnsafeBytes(write) }
      } else {
        try held.withUnsafeBytes { (raw) throws(Failure) in try write(UnsafeRawBufferPointer(rebasing: raw[start..<end])) }
      }
      isInsideMark = isCovered[start]
      start = end
    }
    let (from, rest) = (size, count - size)
    held.withUnsafeMutableBytes { raw in
      UnsafeMutableRawBufferPointer(rebasing: raw[..<rest]).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: raw[from..<from + rest]))
    }
    isCovered.replaceSubrange(..<rest, with: isCovered[from..<from + rest])
    for index in rest..<count { isCovered[index] = false }
    count = rest
  }
}

extension OutputMask {
  /// What to look for: each value without a newline at its end, and each line of one that has several, because programs print
  /// them so.
  static func patterns(of values: [SecretForm], tooShort: () -> Void) throws -> [Pattern] {
    var patterns: [Pattern] = []
    for form in values {
      let value = try form.bytes.withoutTrailingNewline(.lineFeedOrCRLF)
      let lines = try value.withUnsafeBytes { raw in
        try raw.split { $0 == 0x0A || $0 == 0x0D }.map {
          SecretForm(try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0)))
        }
      }
      let found = lines.filter { $0.bytes.count >= shortest }
      if found.isEmpty { tooShort() }
      patterns += found.map(Pattern.init)
    }
    return patterns
  }
}
