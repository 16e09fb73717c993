import CofferTestSupport
import Testing

struct LinearizabilityTests {
  private func failures(_ record: String) throws -> [[String]] {
    let lines = record.split(separator: "\n").map { "\($0) ." }.joined(separator: "\n")
    return Linearizability.failures(in: try RecordedOperation.operations(in: lines))
  }

  @Test func `operations at the same time may have any order`() throws {
    #expect(
      try failures(
        """
        10 1 call w:x=a
        11 2 call w:x=b
        12 3 call r:x=
        13 3 ok r:x=b
        14 3 call r:x=
        15 3 ok r:x=a
        16 1 ok w:x=a
        17 2 ok w:x=b
        """) == [])
  }

  @Test func `a stale read is found`() throws {
    #expect(
      try failures("10 1 call w:x=a\n11 1 ok w:x=a\n12 1 call w:x=b\n13 1 ok w:x=b\n14 2 call r:x=\n15 2 ok r:x=a") == [["x"]])
  }

  @Test func `a value that goes back is found`() throws {
    #expect(
      try failures(
        """
        10 1 call w:x=a
        11 2 call r:x=
        12 2 ok r:x=a
        13 2 call r:x=
        14 2 ok r:x=
        15 1 ok w:x=a
        """) == [["x"]])
  }

  @Test func `a lost update is found`() throws {
    #expect(
      try failures("10 1 call a:n=\n11 1 ok a:n=1\n12 2 call a:n=\n13 2 ok a:n=2\n14 1 call a:n=\n15 1 ok a:n=2") == [["n"]])
    #expect(try failures("10 1 call w:x=a\n11 1 ok w:x=a\n12 2 call r:x=\n13 2 ok r:x=") == [["x"]])
  }

  @Test func `an acknowledgement that two were given is found`() throws {
    #expect(try failures("10 1 call a:n=\n11 2 call a:n=\n12 1 ok a:n=1\n13 2 ok a:n=1") == [["n"]])
  }

  @Test func `a torn transaction is found`() throws {
    let transaction = "10 1 call w:x=a w:y=a\n11 1 ok w:x=a w:y=a\n12 1 call w:x=b w:y=b\n"
    #expect(try failures(transaction + "13 2 call r:x= r:y=\n14 2 ok r:x=b r:y=a\n15 1 ok w:x=b w:y=b") == [["x", "y"]])
    #expect(try failures(transaction + "13 2 call r:x= r:y=\n14 2 ok r:x=b r:y=b\n15 1 ok w:x=b w:y=b") == [])
    // A reader of one half may see it alone; afterwards nobody may see the other one old.
    #expect(
      try failures(transaction + "13 2 call r:x=\n14 2 ok r:x=b\n15 2 call r:y=\n16 2 ok r:y=a\n17 1 ok w:x=b w:y=b") == [
        ["x", "y"]
      ])
  }

  @Test func `what was not answered may have happened or not and once only`() throws {
    let killed = "10 1 call w:x=a\n11 1 ok w:x=a\n12 1 call w:x=b\n"
    #expect(try failures(killed + "13 2 call r:x=\n14 2 ok r:x=a") == [])
    #expect(try failures(killed + "13 2 call r:x=\n14 2 ok r:x=b") == [])
    #expect(try failures(killed + "13 2 call r:x=\n14 2 ok r:x=a\n15 2 call r:x=\n16 2 ok r:x=b") == [])
    #expect(
      try failures(killed + "13 2 call r:x=\n14 2 ok r:x=b\n15 2 call w:x=c\n16 2 ok w:x=c\n17 2 call r:x=\n18 2 ok r:x=b") == [
        ["x"]
      ])
    #expect(try failures("10 1 call a:n=\n11 2 call a:n=\n12 2 ok a:n=2\n13 3 call a:n=\n14 3 ok a:n=3") == [])
    #expect(try failures("10 1 call a:n=\n11 2 call a:n=\n12 2 ok a:n=2\n13 3 call a:n=\n14 3 ok a:n=4") == [["n"]])
  }

  @Test func `what failed did not happen`() throws {
    #expect(try failures("10 1 call w:x=a\n11 1 failed\n12 2 call r:x=\n13 2 ok r:x=a") == [["x"]])
  }

  @Test func `a line that was cut is none`() throws {
    let record = "10 1 call w:x=a .\n11 1 ok w:x=a .\n12 1 call r:x= .\n13 1 ok r:x=\n14 2 call r:x= .\n15 2 ok r:x=a ."
    #expect(Linearizability.failures(in: try RecordedOperation.operations(in: record)) == [])
  }

  @Test func `a record that says nothing is refused`() throws {
    for line in ["", "x 1 call w:x=a", "10 1 ok w:x=a", "10 1 said", "10 1 call q:x=a"].dropFirst() {
      #expect(throws: UnreadableRecord.self) { try failures(line) }
    }
  }

  /// Operations with moments between their calls and answers; then one answer is changed.
  @Test func `of random histories those that were changed are found`() throws {
    var random = Random(seed: 5)
    for _ in 0..<20 {
      var values: [String: String] = [:], operations: [RecordedOperation] = [], reads: [Int] = []
      for number in 0..<100 {
        let moment = UInt64(number * 10 + 1_000), name = ["x", "y"].randomElement(using: &random) ?? "x"
        let part: RecordedOperation.Part
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
          part = .write(name, "\(number)")
          values[name] = "\(number)"
        case 1:
          part = .add("n", (values["n"].flatMap { Int($0) } ?? 0) + 1)
          values["n"] = "\((values["n"].flatMap { Int($0) } ?? 0) + 1)"
        default:
          part = .read(name, values[name, default: ""])
          reads.append(number)
        }
        operations.append(
          RecordedOperation(
            number, moment - .random(in: 0...60, using: &random), moment + .random(in: 0...60, using: &random), [part]))
      }
      #expect(Linearizability.failures(in: operations) == [])
      guard let number = reads.randomElement(using: &random), case .read(let name, _)? = operations[number].parts.first else {
        continue
      }
      let old = operations[number]
      operations[number] = RecordedOperation(old.process, old.call, old.answer, [.read(name, "never written")])
      #expect(Linearizability.failures(in: operations) == [[name]])
    }
  }
}
