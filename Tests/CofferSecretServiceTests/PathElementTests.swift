import CofferTestSupport
import Testing

@testable import CofferSecretService

@Suite struct PathElementTests {
  @Test(arguments: [
    ("", "_"), ("login", "login"), ("My Keys", "My_20Keys"), ("a_b", "a_5fb"), ("é", "_c3_a9"), ("a/b", "a_2fb"), ("\n", "_0a"),
  ])
  func `text becomes an element of a path, and text again`(text: String, element: String) {
    #expect(PathElement.encode(text) == element)
    #expect(PathElement.decode(element) == text)
  }

  @Test(arguments: ["_4", "_zz", "_61", "_5F", "a b", "_ff", "__", "_ "]) func `what no text becomes is no element`(
    element: String
  ) {
    #expect(PathElement.decode(element) == nil)
  }

  @Test func `any text comes back`() {
    var random = Random(seed: 14)
    for _ in 0..<500 {
      let scalars = (0..<Int.random(in: 0..<12, using: &random)).compactMap { _ in
        Unicode.Scalar(UInt32.random(in: 0..<0x3000, using: &random))
      }
      let text = String(String.UnicodeScalarView(scalars))
      #expect(PathElement.decode(PathElement.encode(text)).map { Array($0.utf8) } == Array(text.utf8))
    }
  }

  @Test func `a path is of one object`() {
    let item = ItemPath(collection: "My Keys", element: "a")
    #expect(ObjectPath("/org/freedesktop/secrets") == .service)
    #expect(ObjectPath("/org/freedesktop/secrets/collection/My_20Keys") == .collection("My Keys"))
    #expect(ObjectPath("/org/freedesktop/secrets/aliases/default") == .alias("default"))
    #expect(ObjectPath(item.text) == .item(item))
    for path in [
      "/org/freedesktop/secret", "/org/freedesktop/secrets/collection/a/b/c", "/x", "/org/freedesktop/secrets/aliases/a/b",
    ] {
      #expect(ObjectPath(path) == nil)
    }
  }
}
