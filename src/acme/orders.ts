import type { ManagedDomain } from '#acme/domains.ts'
import { HeldOrder, leaseOf, orderWrite, type OrderLeaseOptions } from '#acme/held-order.ts'
import { ORDERS, moment, orderBody, orderClaim, removeOrder, type OrderBody } from '#acme/order-rows.ts'
import { plausible } from '#acme/renewal.ts'
import { newId } from '#base/ids.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Row } from '#store/store.ts'

/** The order, or when it is available. */
type Taken = { readonly order: HeldOrder } | { readonly notBefore: number }

const ATTEMPTS = 4
const BUSY_MS = 5000

/** The orders of an installation, one for each name, of all processes. */
export class Orders {
  readonly #options: OrderLeaseOptions

  constructor(options: OrderLeaseOptions) {
    this.#options = options
  }

  /** Claims the order of a domain for this process and creates it if there is none. */
  take(domain: ManagedDomain): Promise<Taken> {
    const { store, now } = this.#options
    const attempt = async (): Promise<Taken | typeof CONFLICT> => {
      const row = await store.holder(orderClaim(nameOf(domain)))
      const body = row && orderBody(row)
      // The name was released and reserved again: this is a leftover of the earlier one.
      if (row && body?.domain_id !== domain.id) {
        await removeOrder(store, row)
        return CONFLICT
      }
      const notBefore = body === undefined ? 0 : this.#free(body)
      if (notBefore > now()) return { notBefore }
      const order = await this.#hold(domain, row, body)
      return order === undefined ? CONFLICT : { order }
    }
    return retryOnConflict(attempt, () => ({ notBefore: now() + BUSY_MS }), ATTEMPTS)
  }

  /**
   * Lets an order begin that only waits for the next DNS check. False for one that waits for the CA: callers must not
   * be able to exhaust the CA's limits.
   */
  async bringForward(name: string): Promise<boolean> {
    const { store, now } = this.#options
    const row = await store.holder(orderClaim(name))
    if (row === undefined) return true
    const body = orderBody(row)
    const isHeld = body.lease !== null && Date.parse(body.lease.until) > now()
    if (body.looks === 0 || isHeld) return false
    return (await store.commit([orderWrite(row.id, { ...body, next_try_at: null }, row.version + 1)])).ok
  }

  /** Ends the order of a domain that is no longer managed. */
  end(id: string, name: string): Promise<void> {
    const { store } = this.#options
    const attempt = async (): Promise<void | typeof CONFLICT> => {
      const row = await store.holder(orderClaim(name))
      const isOver = !row || orderBody(row).domain_id !== id || (await removeOrder(store, row))
      return isOver ? undefined : CONFLICT
    }
    return retryOnConflict(attempt, () => undefined, ATTEMPTS)
  }

  /** Ends all orders of domains for which `isManaged` is false. */
  async sweep(isManaged: (id: string) => Promise<boolean>): Promise<void> {
    for await (const row of rowsOf(this.#options.store, ORDERS)) {
      const { domain_id: id, domain } = orderBody(row)
      if (!(await isManaged(id))) await this.end(id, domain)
    }
  }

  /** When the order can be worked on. */
  #free({ lease, next_try_at: nextTry }: OrderBody): number {
    const leased = lease === null || lease.owner === this.#options.owner ? 0 : Date.parse(lease.until)
    return plausible(Math.max(leased, nextTry === null ? 0 : Date.parse(nextTry)), this.#options.now())
  }

  async #hold(
    domain: ManagedDomain,
    row: Row | undefined,
    known: OrderBody | undefined,
  ): Promise<HeldOrder | undefined> {
    const id = row?.id ?? newId('ao', this.#options.now())
    const version = (row?.version ?? 0) + 1
    const body = { ...this.#started(domain, known), lease: leaseOf(this.#options) }
    const outcome = await this.#options.store.commit([orderWrite(id, body, version)])
    return outcome.ok ? new HeldOrder(id, this.#options, body, version) : undefined
  }

  /** An order for another key type is restarted. */
  #started(domain: ManagedDomain, known: OrderBody | undefined): OrderBody {
    if (known?.key_type === domain.keyType) return known
    return {
      domain_id: domain.id,
      domain: nameOf(domain),
      key_type: domain.keyType,
      state: 'checking',
      challenge: null,
      url: null,
      key: null,
      started_at: moment(this.#options.now()),
      attempts: 0,
      looks: 0,
      next_try_at: null,
      error: null,
      lease: null,
    }
  }
}

/** The first of the names, which represents all. */
export const nameOf = ({ names, id }: ManagedDomain): string => names[0] ?? id
