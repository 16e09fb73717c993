internal import CCofferLibraries
internal import CofferPlatform

/// A number in libgcrypt's locked memory.
struct Number: ~Copyable {
  let raw: OpaquePointer
  private let library: coffer_libgcrypt

  init(_ bytes: UnsafeRawBufferPointer, _ library: coffer_libgcrypt) throws(StoreError) {
    // A number is where the memory it is read from is.
    guard let memory = library.allocate_secure(max(1, bytes.count)) else { throw Gcrypt.failed("memory", 0) }
    defer { library.release(memory) }
    if let start = bytes.baseAddress { memory.copyMemory(from: start, byteCount: bytes.count) }
    var made: OpaquePointer?
    let status = library.mpi_scan(&made, Int32(COFFER_GCRYPT_UNSIGNED), memory, bytes.count, nil)
    guard status == 0, let made else { throw Gcrypt.failed("a number", status) }
    raw = made
    self.library = library
  }

  /// The number that `compute` sets.
  init(_ library: coffer_libgcrypt, _ compute: (OpaquePointer) -> Void) throws(StoreError) {
    guard let made = library.mpi_snew(0) else { throw Gcrypt.failed("memory", 0) }
    compute(made)
    raw = made
    self.library = library
  }

  deinit { library.mpi_release(raw) }
}

extension Gcrypt {
  /// Whether the numbers of a private RSA key fit together: a signature with others may reveal a prime. Primality is not
  /// checked. Source: RFC 8017, section 3.2.
  static func areConsistent(_ key: KeyNumbers) throws(StoreError) -> Bool {
    let library = try library()
    let d = try Number(key["d"], library)
    let e = try Number(key["e"], library)
    let n = try Number(key["n"], library)
    let p = try Number(key["p"], library)
    let q = try Number(key["q"], library)
    let u = try Number(key["u"], library)
    let product = try Number(library) { library.mpi_mul($0, p.raw, q.raw) }
    // An odd product of numbers above 1 has factors of 3 or more, so that no modulus below is 0.
    guard library.mpi_cmp(product.raw, n.raw) == 0, library.mpi_cmp_ui(p.raw, 1) > 0, library.mpi_cmp_ui(q.raw, 1) > 0,
      library.mpi_cmp(d.raw, n.raw) < 0, library.mpi_cmp(u.raw, q.raw) < 0, try isInverse(e, d, modulo: p, less: 1, library),
      try isInverse(e, d, modulo: q, less: 1, library)
    else { return false }
    return try isInverse(u, p, modulo: q, less: 0, library)
  }

  private static func isInverse(
    _ a: borrowing Number, _ b: borrowing Number, modulo m: borrowing Number, less: UInt, _ library: coffer_libgcrypt
  ) throws(StoreError) -> Bool {
    let (a, b, m) = (a.raw, b.raw, m.raw)
    let modulus = try Number(library) { library.mpi_sub_ui($0, m, less) }
    let product = try Number(library) { library.mpi_mulm($0, a, b, modulus.raw) }
    return library.mpi_cmp_ui(product.raw, 1) == 0
  }
}
