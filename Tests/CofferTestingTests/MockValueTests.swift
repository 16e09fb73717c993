import CofferTestSupport
import Coffer
import CofferValues
import CofferStorage
import CofferTesting
import Testing

@Suite struct MockValueTests {
  struct AccountModel {
    let userID: AnyPersistedValue<String?>
    init(userID: some PersistedValue<String?>) { self.userID = userID.eraseToAnyPersistedValue() }
    func logOut() { userID.wrappedValue = nil }
  }

  @Test
  func `C10, C19: a mock value notes what was written and how often it was read`() {
    let userID = MockPersistedValue<String?>("ada")
    let model = AccountModel(userID: userID)
    #expect(model.userID.wrappedValue == "ada" && userID.outputsCount == 1 && userID.inputs.isEmpty)
    model.logOut()
    #expect(userID.inputs == [nil] && userID.output == nil)
    userID.output = "bob"
    #expect(model.userID.wrappedValue == "bob" && userID.inputs.count == 1)
  }

  @Test
  func `a mock value fails where a test says so, and what wrappedValue met is noted`() {
    let value = MockPersistedValue(1)
    value.fail(with: StoreError(.locked, "the vault is locked", cure: "unlock it"))
    #expect(throws: StoreError.self) { try value.load() }
    #expect(value.wrappedValue == 1)
    value.wrappedValue = 2
    #expect(value.inputs.isEmpty && value.reported.map(\.kind) == [.locked, .locked])
    value.fail(with: nil)
    value.wrappedValue = 2
    #expect(value.inputs == [2] && value.wrappedValue == 2)
  }

  @Test
  func `C10: values of a mock store are counted through their handles`() throws {
    let storage = MockStore<Plain>()
    let toggle = storage.persistedValue(forKey: "user_toggle").bool().default(false)
    #expect(!toggle.wrappedValue && storage.gets["user_toggle"] == 1)
    toggle.wrappedValue = true
    #expect(storage.sets["user_toggle"] == 1 && toggle.wrappedValue)
  }
}
