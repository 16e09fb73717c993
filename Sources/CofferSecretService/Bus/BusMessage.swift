internal import CCofferLibraries
internal import CofferPlatform

/// A message, for the bus's thread.
///
/// Its memory is wiped on release: most messages name secrets, and many hold one.
final class BusMessage {
  let raw: OpaquePointer
  let bus: Bus
  var library: coffer_sdbus { bus.library }
  /// Bytes of texts and arrays read, which a waiting call holds.
  private(set) var bytesRead = 0

  /// Takes ownership of a reference of sd-bus.
  init(_ raw: OpaquePointer, _ bus: Bus) {
    self.raw = raw
    self.bus = bus
    _ = bus.library.message_sensitive(raw)
  }

  /// Takes ownership of the result of `make`.
  private convenience init(
    _ bus: Bus, _ make: (UnsafeMutablePointer<OpaquePointer?>) -> Int32
  ) throws(Refusal) {
    var made: OpaquePointer?
    let code = make(&made)
    guard code >= 0, let made else { throw .failed("cannot make a message: \(String(cString: strerror(-code)))") }
    self.init(made, bus)
  }

  convenience init(
    callOf member: String, _ interface: String, _ path: String, at destination: String, _ bus: Bus
  ) throws(Refusal) {
    try self.init(bus) { bus.library.new_method_call(bus.connection, $0, destination, path, interface, member) }
  }

  convenience init(signal member: String, _ interface: String, at path: String, _ bus: Bus) throws(Refusal) {
    try self.init(bus) { bus.library.new_signal(bus.connection, $0, path, interface, member) }
  }

  convenience init(answerTo call: BusMessage) throws(Refusal) {
    try self.init(call.bus) { call.library.new_method_return(call.raw, $0) }
  }

  convenience init(refusing call: BusMessage, _ refusal: Refusal) throws(Refusal) {
    try self.init(call.bus) { made in
      refusal.name.withCString { name in
        refusal.text.withCString { text in
          var error = coffer_sdbus_error(name: name, message: text, need_free: 0)
          return call.library.new_method_error(call.raw, made, &error)
        }
      }
    }
  }

  deinit { _ = library.message_unref(raw) }

  enum Kind { case call, signal, other }

  var kind: Kind {
    var type: UInt8 = 0
    guard library.get_type(raw, &type) >= 0 else { return .other }
    return switch Int(type) {
    case COFFER_SDBUS_METHOD_CALL: .call
    case COFFER_SDBUS_SIGNAL: .signal
    default: .other
    }
  }

  var expectsAnswer: Bool { library.get_expect_reply(raw) > 0 }
  var path: String { text(library.get_path(raw)) }
  /// Empty if the caller names none.
  var interface: String { text(library.get_interface(raw)) }
  var member: String { text(library.get_member(raw)) }
  var sender: String { text(library.get_sender(raw)) }
  var signature: String { text(library.get_signature(raw, 1)) }

  private func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }

  func address(to connection: String) throws(Refusal) {
    let code = library.set_destination(raw, connection)
    guard code >= 0 else { throw .failed("cannot address a message: \(String(cString: strerror(-code)))") }
  }
}

// Reading, one value after the other. Mismatches are the sender's fault.
extension BusMessage {
  private func check(_ code: Int32) throws(Refusal) {
    guard code >= 0 else { throw .invalidArguments("the message is malformed") }
  }

  private func basic<Value: BitwiseCopyable>(_ type: Unicode.Scalar, _ value: Value) throws(Refusal) -> Value {
    var value = value
    let code = library.read_basic(raw, CChar(truncatingIfNeeded: type.value), &value)
    guard code > 0 else { throw .invalidArguments("the message is malformed") }
    return value
  }

  func string(_ type: Unicode.Scalar = "s") throws(Refusal) -> String {
    let read = text(try basic(type, UnsafePointer<CChar>?.none))
    bytesRead += read.utf8.count
    return read
  }

  func objectPath() throws(Refusal) -> String { try string("o") }
  func flag() throws(Refusal) -> Bool { try basic("b", Int32(0)) != 0 }
  func number() throws(Refusal) -> UInt32 { try basic("u", UInt32(0)) }
  /// A descriptor, owned by the message.
  func descriptor() throws(Refusal) -> Int32 { try basic("h", Int32(-1)) }

  /// Lends an array of bytes in place.
  func bytes<Result: ~Copyable>(_ body: (UnsafeRawBufferPointer) throws(Refusal) -> Result) throws(Refusal) -> Result {
    var (start, count) = (UnsafeRawPointer?.none, 0)
    try check(library.read_array(raw, CChar(UInt8(ascii: "y")), &start, &count))
    bytesRead += count
    return try body(UnsafeRawBufferPointer(start: start, count: count))
  }

  func container<Result>(
    _ type: Unicode.Scalar, _ contents: String, _ body: () throws(Refusal) -> Result
  ) throws(Refusal) -> Result? {
    let code = library.enter_container(raw, CChar(truncatingIfNeeded: type.value), contents)
    try check(code)
    guard code > 0 else { return nil }
    let result = try body()
    try check(library.exit_container(raw))
    return result
  }

  private func require<Result>(_ result: Result?) throws(Refusal) -> Result {
    guard let result else { throw .invalidArguments("the message is malformed") }
    return result
  }

  func structure<Result>(_ contents: String, _ body: () throws(Refusal) -> Result) throws(Refusal) -> Result {
    try require(container("r", contents, body))
  }

  func variant<Result>(_ contents: String, _ body: () throws(Refusal) -> Result) throws(Refusal) -> Result {
    try require(container("v", contents, body))
  }

  /// The type in the next variant.
  func variantContents() throws(Refusal) -> String {
    var (type, contents) = (CChar(0), UnsafePointer<CChar>?.none)
    try check(library.peek_type(raw, &type, &contents))
    guard type == CChar(UInt8(ascii: "v")) else { throw .invalidArguments("a value is not a variant") }
    return text(contents)
  }

  func skip(_ types: String) throws(Refusal) { try check(library.skip(raw, types)) }

  func paths() throws(Refusal) -> [String] {
    var paths: [String] = []
    _ = try container("a", "o") { () throws(Refusal) in
      // read_basic returns 0 at the end of an array.
      while true {
        var next = UnsafePointer<CChar>?.none
        let code = library.read_basic(raw, CChar(UInt8(ascii: "o")), &next)
        try check(code)
        guard code > 0 else { return }
        let path = text(next)
        bytesRead += path.utf8.count
        paths.append(path)
      }
    }
    return paths
  }

  /// Reads a dictionary from text to `contents`: `body` gets each name and reads its value.
  func entries(_ contents: String, _ body: (String) throws(Refusal) -> Void) throws(Refusal) {
    _ = try container("a", "{s\(contents)}") { () throws(Refusal) in
      while try container("e", "s" + contents, { () throws(Refusal) in try body(string()) }) != nil {}
    }
  }

  /// - Throws: ``Refusal`` `InvalidArgs` for a repeated name, even in another spelling of Unicode: an item has one of them.
  func attributes() throws(Refusal) -> [String: String] {
    var attributes: [String: String] = [:]
    try entries("s") { (name) throws(Refusal) in
      guard attributes.updateValue(try string(), forKey: name) == nil else {
        throw .invalidArguments("two attributes have names of one text")
      }
    }
    return attributes
  }
}

// Writing.
extension BusMessage {
  private func wrote(_ code: Int32) throws(Refusal) {
    guard code >= 0 else { throw .failed("cannot write a message: \(String(cString: strerror(-code)))") }
  }

  private func put<Value: BitwiseCopyable>(_ type: Unicode.Scalar, _ value: Value) throws(Refusal) {
    var value = value
    try wrote(library.append_basic(raw, CChar(truncatingIfNeeded: type.value), &value))
  }

  private func put(_ text: String, as type: Unicode.Scalar) throws(Refusal) {
    try wrote(text.withCString { library.append_basic(raw, CChar(truncatingIfNeeded: type.value), $0) })
  }

  func put(_ text: String) throws(Refusal) { try put(text, as: "s") }
  func put(path: String) throws(Refusal) { try put(path, as: "o") }
  func put(_ flag: Bool) throws(Refusal) { try put("b", Int32(flag ? 1 : 0)) }
  func put(_ number: UInt32) throws(Refusal) { try put("u", number) }
  /// A descriptor; the receiver gets a copy.
  func put(descriptor: Int32) throws(Refusal) { try put("h", descriptor) }
  /// Seconds since 1970.
  func put(seconds: UInt64) throws(Refusal) { try put("t", seconds) }
  func put(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
    try wrote(library.append_array(raw, CChar(UInt8(ascii: "y")), bytes.baseAddress, bytes.count))
  }

  private func within(
    _ type: Unicode.Scalar, _ contents: String, _ body: () throws(Refusal) -> Void
  ) throws(Refusal) {
    try wrote(library.open_container(raw, CChar(truncatingIfNeeded: type.value), contents))
    try body()
    try wrote(library.close_container(raw))
  }

  func putArray(_ contents: String, _ body: () throws(Refusal) -> Void) throws(Refusal) { try within("a", contents, body) }
  func putStructure(_ contents: String, _ body: () throws(Refusal) -> Void) throws(Refusal) { try within("r", contents, body) }
  func putVariant(_ contents: String, _ body: () throws(Refusal) -> Void) throws(Refusal) { try within("v", contents, body) }
  func putEntry(_ contents: String, _ body: () throws(Refusal) -> Void) throws(Refusal) { try within("e", contents, body) }

  func put(paths: [String]) throws(Refusal) {
    try putArray("o") { () throws(Refusal) in for path in paths { try put(path: path) } }
  }

  func put(attributes: [String: String]) throws(Refusal) {
    try putArray("{ss}") { () throws(Refusal) in
      for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
        try putEntry("ss") { () throws(Refusal) in
          try put(name)
          try put(value)
        }
      }
    }
  }
}
