internal import CCofferLibraries
internal import CofferPlatform

/// An expression to build. Source: libgcrypt's manual, "S-expressions"; Rivest, "S-expressions", section 6 (canonical form).
enum Term: ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
  case word(String)
  case bytes(UnsafeRawBufferPointer)
  indirect case list([Term])

  init(stringLiteral word: String) { self = .word(word) }
  init(arrayLiteral terms: Term...) { self = .list(terms) }

  /// Hands its canonical form to `put`, in parts.
  func write(_ put: (UnsafeRawBufferPointer) -> Void) {
    switch self {
    case .word(let word): Array(word.utf8).withBytes { Term.bytes($0).write(put) }
    case .bytes(let bytes):
      Array("\(bytes.count):".utf8).withBytes(put)
      put(bytes)
    case .list(let terms):
      [UInt8(ascii: "(")].withBytes(put)
      for term in terms { term.write(put) }
      [UInt8(ascii: ")")].withBytes(put)
    }
  }
}

/// An expression of libgcrypt's: a key, data to sign, or a signature.
struct SExpression: ~Copyable {
  let raw: OpaquePointer
  private let library: coffer_libgcrypt

  /// - Parameter isSecret: whether it lies in libgcrypt's locked memory, as then do all numbers computed from it, in constant
  ///   time.
  init(_ term: Term, isSecret: Bool = false) throws(StoreError) {
    let library = try Gcrypt.library()
    var count = 0
    term.write { count += $0.count }
    guard let memory = isSecret ? library.allocate_secure(count) : library.allocate(count) else {
      throw Gcrypt.failed("memory", 0)
    }
    var end = memory
    term.write { part in
      if let start = part.baseAddress { end.copyMemory(from: start, byteCount: part.count) }
      end += part.count
    }
    var made: OpaquePointer?
    let status = library.sexp_new(&made, memory, count, 1)
    library.release(memory)  // Secure memory is wiped.
    try self.init(made, status, library)
  }

  /// The signature of `data` by `key`.
  init(signing data: borrowing SExpression, by key: borrowing SExpression) throws(StoreError) {
    var made: OpaquePointer?
    let status = data.library.key_sign(&made, data.raw, key.raw)
    try self.init(made, status, data.library)
  }

  private init(_ made: OpaquePointer?, _ status: UInt32, _ library: coffer_libgcrypt) throws(StoreError) {
    guard status == 0, let made else { throw Gcrypt.failed("a key or a signature", status) }
    raw = made
    self.library = library
  }

  deinit { library.sexp_release(raw) }

  /// The public bytes after `name`; none without it.
  func value(_ name: String) -> [UInt8] {
    guard let list = library.sexp_find(raw, name, 0) else { return [] }
    defer { library.sexp_release(list) }
    var count = 0
    return library.sexp_data(list, 1, &count).map { Array(UnsafeRawBufferPointer(start: $0, count: count)) } ?? []
  }
}
