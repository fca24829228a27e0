import type { TunnelRecord } from '#registry/directory.ts'
import { DialError, type Fleet } from '#registry/fleet.ts'
import { otherLegs } from '#registry/legs.ts'

/**
 * Takes another connection of an agent when the one that was chosen is lost. Every process learns of that a moment
 * later, and of a tunnel that is bound a moment before its agent is ready for it.
 */
export function dialAnyLeg(tunnels: ReadonlyMap<string, TunnelRecord>, dial: Fleet['dial']): Fleet['dial'] {
  return (tunnel, header, first) =>
    dial(tunnel, header, first).catch(async (error: unknown) => {
      if (!(error instanceof DialError) || error.code !== 'offline') throw error
      for (const other of otherLegs(tunnels, tunnel)) {
        try {
          return await dial(other, { ...header, Id: other.id }, first)
        } catch {
          // What is told is why the first one failed.
        }
      }
      throw error
    })
}
