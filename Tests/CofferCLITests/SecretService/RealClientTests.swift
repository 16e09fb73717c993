import CofferTestSupport
import Foundation
import Testing

/// Debian's programs and libraries, which know nothing of Coffer.
@Suite(.tags(.process), .wholeRun) struct RealClientTests {
  @Test func `secret-tool stores, looks up, searches and clears`() throws {
    let service = try SecretServiceHome()
    let attributes = ["service", "gh", "user", "ada"]
    let stored = try service.program(["secret-tool", "store", "--label=A token"] + attributes, in: "hunter2")
    #expect(stored.status == 0, "\(stored.err)")
    #expect(try service.program(["secret-tool", "lookup"] + attributes).out == "hunter2")
    let found = try service.program(["secret-tool", "search", "--all", "service", "gh"])
    #expect(found.out.contains("label = A token\nsecret = hunter2\n"))
    #expect(try service.program(["secret-tool", "lookup", "service", "none"]).status == 1)
    try service.home.transcript(
      "vault list secret-service:login --json",
      out: try service.home.coffer("vault list secret-service:login --json").out)
    let listed = try service.home.coffer("vault list secret-service:login --json").out
    #expect(listed.contains("\"label\":\"A token\"") && listed.contains("\"xdg:schema\"") == false || listed.contains("gh"))
    #expect(try service.program(["secret-tool", "clear"] + attributes).status == 0)
    #expect(try service.program(["secret-tool", "lookup"] + attributes).status == 1)
    try service.home.transcript("vault list secret-service:login")
  }

  @Test func `python's SecretStorage reads and writes items and collections`() throws {
    let service = try SecretServiceHome()
    let script = """
      import secretstorage
      bus = secretstorage.dbus_init()
      default = secretstorage.get_default_collection(bus)
      print(default.get_label(), default.is_locked())
      item = default.create_item('My label', {'a': 'b', 'ü': '日本'}, b'\\x00\\xff secret')
      print(item.get_label(), item.get_attributes(), item.get_secret(), item.get_secret_content_type())
      print(item.get_created() > 1.6e9, item.get_modified() >= item.get_created(), item.is_locked())
      item.set_label('New'); item.set_attributes({'c': 'd'}); item.set_secret(b'other', 'text/x-other')
      print(item.get_label(), item.get_attributes(), item.get_secret(), item.get_secret_content_type())
      print([i.get_label() for i in default.search_items({'c': 'd'})], list(default.search_items({'a': 'b'})))
      print([i.get_label() for i in default.get_all_items()])
      made = secretstorage.create_collection(bus, 'My Keys', 'keys')
      print(made.collection_path, made.get_label(), secretstorage.get_collection_by_alias(bus, 'keys').collection_path)
      made.create_item('x', {'k': 'v'}, b's')
      print([i.get_secret() for i in secretstorage.search_items(bus, {'k': 'v'})])
      made.delete(); item.delete()
      print(list(secretstorage.search_items(bus, {})), [c.get_label() for c in secretstorage.get_all_collections(bus)])
      default.lock()
      print(default.is_locked(), default.unlock(), default.is_locked())
      any = secretstorage.get_any_collection(bus)
      print(any.get_label())
      """
    let said = try service.python(script, needs: ["secretstorage"])
    #expect(
      said == """
        Login False
        My label {'a': 'b', 'ü': '日本'} b'\\x00\\xff secret' text/plain
        True True False
        New {'c': 'd'} b'other' text/x-other
        ['New'] []
        ['New']
        /org/freedesktop/secrets/collection/My_20Keys My Keys /org/freedesktop/secrets/collection/My_20Keys
        [b's']
        [] ['Login', 'session']
        False False False
        Login

        """)
  }

  @Test func `python keyring keeps passwords in the vault`() throws {
    let service = try SecretServiceHome()
    let script = """
      import keyring
      from keyring.backends import SecretService
      keyring.set_keyring(SecretService.Keyring())
      keyring.set_password('example.com', 'ada', 'hunter2')
      print(keyring.get_password('example.com', 'ada'), keyring.get_credential('example.com', None).username)
      keyring.set_password('example.com', 'ada', 'other')
      print(keyring.get_password('example.com', 'ada'), keyring.get_password('example.com', 'bob'))
      keyring.delete_password('example.com', 'ada')
      print(keyring.get_password('example.com', 'ada'))
      """
    let said = try service.python(script, needs: ["keyring", "secretstorage"])
    #expect(said == "hunter2 ada\nother None\nNone\n")
  }

  @Test func `libsecret stores, reads and hears of changes, through its own objects`() throws {
    let service = try SecretServiceHome()
    let script = """
      import gi
      gi.require_version('Secret', '1')
      from gi.repository import Secret, GLib
      schema = Secret.Schema.new('org.example.Test', Secret.SchemaFlags.NONE, {'user': Secret.SchemaAttributeType.STRING})
      print(Secret.password_store_sync(schema, {'user': 'ada'}, None, 'Label', 'hunter2', None))
      print(Secret.password_lookup_sync(schema, {'user': 'ada'}, None))
      service = Secret.Service.get_sync(Secret.ServiceFlags.OPEN_SESSION | Secret.ServiceFlags.LOAD_COLLECTIONS, None)
      print(service.get_session_algorithms(), sorted(c.get_label() for c in service.get_collections()))
      items = service.search_sync(schema, {'user': 'ada'}, Secret.SearchFlags.ALL | Secret.SearchFlags.LOAD_SECRETS, None)
      print([(i.get_label(), i.get_attributes(), i.get_secret().get_text()) for i in items])
      items[0].set_label_sync('Other', None)
      items[0].set_secret_sync(Secret.Value.new('second', -1, 'text/plain'), None)
      print(items[0].get_label(), Secret.password_lookup_sync(schema, {'user': 'ada'}, None))
      session = Secret.Collection.for_alias_sync(service, 'session', Secret.CollectionFlags.LOAD_ITEMS, None)
      Secret.Item.create_sync(session, schema, {'user': 'bob'}, 'In memory', Secret.Value.new('third', -1, 'text/plain'), 0, None)
      print(Secret.password_lookup_sync(schema, {'user': 'bob'}, None))
      print(Secret.password_clear_sync(schema, {'user': 'ada'}, None), Secret.password_lookup_sync(schema, {'user': 'ada'}, None))
      """
    let said = try service.python(script, needs: ["gi", "gi.repository.GLib"])
    #expect(
      said == """
        True
        hunter2
        dh-ietf1024-sha256-aes128-cbc-pkcs7 ['Login', 'session']
        [('Label', {'user': 'ada', 'xdg:schema': 'org.example.Test'}, 'hunter2')]
        Other second
        third
        True None

        """)
  }

  @Test func `busctl lists the objects and their properties`() throws {
    let service = try SecretServiceHome()
    let tree = try service.program(["busctl", "--user", "tree", "org.freedesktop.secrets"])
    #expect(tree.out.contains("/org/freedesktop/secrets/collection/login"), "\(tree.err)")
    let words = ["busctl", "--user", "get-property", "org.freedesktop.secrets", "/org/freedesktop/secrets/collection/login"]
    #expect(try service.program(words + ["org.freedesktop.Secret.Collection", "Label"]).out == "s \"Login\"\n")
  }
}
