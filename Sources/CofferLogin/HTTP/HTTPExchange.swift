internal import CCofferLibraries
internal import CofferMemory
internal import CofferPlatform
internal import CofferStorage

/// One request to a server and its answer, by libcurl, which is loaded on demand and handles proxies, certificates, HTTP/2
/// and time limits.
///
/// libcurl and its TLS library keep copies of the sent bytes in their own memory, which is never wiped.
struct HTTPExchange: ~Copyable {
  /// Limits for an answer and for a connection. Milliseconds.
  private static let longest = 30_000, longestConnecting = 10_000

  private let library: coffer_libcurl
  private let handle: UnsafeMutableRawPointer
  private let endpoint: Endpoint
  private let authority: String?

  /// - Parameter authority: the file with the only trusted certificates. Nil for `SSL_CERT_FILE`, which the TLS library knows
  ///   and libcurl does not, and without that for libcurl's built-in default.
  /// - Throws: `.unsupported` if libcurl is not installed.
  init(_ endpoint: Endpoint, authority: String?) throws(StoreError) {
    let library = try Self.load()
    guard let handle = library.easy_init() else {
      throw StoreError(.memory, "libcurl could not begin", place: endpoint.host, cure: "free some memory and try again")
    }
    self.library = library
    self.handle = handle
    self.endpoint = endpoint
    self.authority = authority ?? getenv("SSL_CERT_FILE").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  deinit {
    let (curl, ended) = (library, handle)
    // The end of an encrypted connection is written too.
    ClosedPipe.ignored { curl.easy_cleanup(ended) }
  }

  /// Why libcurl cannot be loaded; nil if it can.
  static func obstacle() -> String? {
    do throws(StoreError) { _ = try load() } catch { return error.what }
    return nil
  }

  // Once a process, before any other call (curl.se/libcurl/c/curl_global_init.html).
  private static let loaded: Result<coffer_libcurl, StoreError> = {
    var reason: UnsafePointer<CChar>?
    guard let table = coffer_libcurl_load(&reason) else {
      return .failure(
        StoreError(
          .unsupported, "libcurl, which contacts servers, is not installed (\(reason.map { String(cString: $0) } ?? ""))",
          place: "libcurl.so.4", cure: "install libcurl4 (on Fedora libcurl)"))
    }
    _ = table.pointee.global_init(Int(COFFER_CURL_GLOBAL_DEFAULT))
    return .success(table.pointee)
  }()

  private static func load() throws(StoreError) -> coffer_libcurl { try loaded.get() }

  func get(_ cancellation: Cancellation?) throws -> HTTPAnswer {
    try run(["Accept: application/json"], cancellation)
  }

  /// - Parameter authorization: the value of the header of that name; nil for none.
  func post(_ form: Form, authorization: SecretForm? = nil, _ cancellation: Cancellation?) throws -> HTTPAnswer {
    let body = try form.bytes()
    let headers = ["Accept: application/json", "Content-Type: application/x-www-form-urlencoded"]
    return try body.withUnsafeBytes { raw in
      set(COFFER_CURLOPT_POSTFIELDSIZE, raw.count)
      _ = coffer_curl_set_pointer(handle, Int32(COFFER_CURLOPT_POSTFIELDS), raw.baseAddress ?? UnsafeRawPointer(handle))
      return try run(headers, authorization: authorization, cancellation)
    }
  }

  private func set(_ option: Int, _ value: Int) {
    _ = coffer_curl_set_number(handle, Int32(option), value)
  }

  private func set(_ option: Int, _ value: String) {
    _ = coffer_curl_set_text(handle, Int32(option), value)
  }

  private func run(
    _ headers: [String], authorization: SecretForm? = nil, _ cancellation: Cancellation?
  ) throws -> HTTPAnswer {
    set(COFFER_CURLOPT_URL, endpoint.text)
    // With a redirect the tokens would follow.
    set(COFFER_CURLOPT_FOLLOWLOCATION, 0)
    set(COFFER_CURLOPT_PROTOCOLS, (endpoint.isLoopback ? COFFER_CURLPROTO_HTTP : 0) | COFFER_CURLPROTO_HTTPS)
    // A request to this machine must not pass a proxy.
    if endpoint.isLoopback { set(COFFER_CURLOPT_NOPROXY, "*") }
    set(COFFER_CURLOPT_USERAGENT, "coffer")
    set(COFFER_CURLOPT_NOSIGNAL, 1)
    if let authority { set(COFFER_CURLOPT_CAINFO, authority) }
    set(COFFER_CURLOPT_TIMEOUT_MS, Self.longest)
    set(COFFER_CURLOPT_CONNECTTIMEOUT_MS, Self.longestConnecting)

    var list: OpaquePointer?
    defer { library.slist_free_all(list) }
    for header in headers { list = library.slist_append(list, header) ?? list }
    if let authorization {
      let line = try SecretBytes.written { (put) throws(StoreError) in
        "Authorization: ".utf8.forEach(put)
        authorization.bytes.withUnsafeBytes { $0.forEach(put) }
        put(0)
      }
      line.withUnsafeBytes { raw in
        guard let text = raw.bindMemory(to: CChar.self).baseAddress else { return }
        list = library.slist_append(list, text) ?? list
      }
    }
    _ = coffer_curl_set_pointer(handle, Int32(COFFER_CURLOPT_HTTPHEADER), list.map { UnsafeRawPointer($0) })

    let body = try IncomingBody()
    _ = coffer_curl_set_write(
      handle,
      { bytes, size, count, context in
        guard let context else { return 0 }
        let body = Unmanaged<IncomingBody>.fromOpaque(context).takeUnretainedValue()
        return body.take(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
      }, Unmanaged.passUnretained(body).toOpaque())
    if let cancellation {
      _ = coffer_curl_set_progress(
        handle,
        { context, _, _, _, _ in
          guard let context else { return 0 }
          return Unmanaged<Cancellation>.fromOpaque(context).takeUnretainedValue().isCancelled ? 1 : 0
        }, Unmanaged.passUnretained(cancellation).toOpaque())
    }
    let (curl, request) = (library, handle)
    let code = ClosedPipe.ignored { curl.easy_perform(request) }
    return try withExtendedLifetime((body, cancellation)) {
      guard code == 0 else { throw failure(code, body) }
      var status = 0
      _ = coffer_curl_get_number(handle, Int32(COFFER_CURLINFO_RESPONSE_CODE), &status)
      return HTTPAnswer(status: status, body: try body.bytes())
    }
  }

  private func failure(_ code: Int32, _ body: IncomingBody) -> any Error {
    switch Int(code) {
    case COFFER_CURLE_ABORTED_BY_CALLBACK: return CancellationError()
    case COFFER_CURLE_WRITE_ERROR where body.isTooLarge:
      return StoreError(
        .damaged, "the server answers with more than \(IncomingBody.largest / 1024) KiB, too much for a login",
        place: endpoint.text, cure: "check that the address is the server's")
    case COFFER_CURLE_WRITE_ERROR where body.hasFailed:
      return StoreError(
        .memory, "there is no guarded memory for the answer", place: endpoint.text, cure: "free some memory and try again")
    case COFFER_CURLE_PEER_FAILED_VERIFICATION:
      return StoreError(
        .denied, "this machine does not trust the server's certificate", place: endpoint.text,
        cure: "check that the address is the server's; if it is, --ca FILE with its authority's certificate")
    case COFFER_CURLE_SSL_CACERT_BADFILE:
      return StoreError(
        .denied, "the file of certificates cannot be read or has none", place: authority ?? endpoint.text,
        cure: "check --ca or SSL_CERT_FILE")
    case COFFER_CURLE_OPERATION_TIMEDOUT:
      return StoreError(
        .unreachable, "the server did not answer in time", place: endpoint.text, cure: "check the network and try again")
    default:
      return StoreError(
        .unreachable, "the server cannot be reached: \(String(cString: library.easy_strerror(code)))", place: endpoint.text,
        cure: "check the network and the address, and try again")
    }
  }
}
