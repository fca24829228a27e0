/** The other nodes of the cluster, as agents need them. */
export interface OtherNodes {
  /** Where agents reach those that serve. */
  agentAddresses(): readonly string[]
  /** Calls back when these addresses have changed. */
  watch(listener: () => void): () => void
}
