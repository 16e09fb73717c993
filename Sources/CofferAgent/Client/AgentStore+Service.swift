internal import CofferStorage

extension AgentStore: ItemsOfService {}
