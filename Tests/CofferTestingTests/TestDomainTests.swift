import Testing

@testable import CofferTesting

@Suite struct TestDomainTests {
  @Test func `the name of a test's domain stays when its file is edited`() throws {
    let test = try #require(Test.current?.id)
    let name = TestDomain.name("init()", "Module/File.swift", of: test)
    var moved = test
    moved.sourceLocation?.line += 1
    try #require(moved.sourceLocation != test.sourceLocation)
    #expect(TestDomain.name("init()", "Module/File.swift", of: moved) == name)
    var other = test
    other.nameComponents.append("another()")
    #expect(TestDomain.name("init()", "Module/File.swift", of: other) != name)
    #expect(TestDomain.name("init()", "Module/File.swift") == name)
  }
}
