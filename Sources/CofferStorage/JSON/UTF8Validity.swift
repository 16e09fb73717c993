/// Whether bytes are UTF-8, decided in place.
package enum UTF8Validity {
  package static func isValid(_ raw: UnsafeRawBufferPointer) -> Bool {
    var decoder = UTF8()
    var bytes = raw.makeIterator()
    while true {
      switch decoder.decode(&bytes) {
      case .scalarValue: continue
      case .emptyInput: return true
      case .error: return false
      }
    }
  }
}
