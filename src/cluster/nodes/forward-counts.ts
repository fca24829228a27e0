/** Connections to agents of other nodes, since the start; a failed one did not reach the agent. */
export class ForwardCounts {
  connected = 0
  failed = 0

  async count<Stream>(dialed: Promise<Stream>): Promise<Stream> {
    try {
      const stream = await dialed
      this.connected++
      return stream
    } catch (error) {
      this.failed++
      throw error
    }
  }
}
