import type { ErrorName } from '#base/errors.ts'
import type { Body } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Kept, Shape } from '#contract/shape.ts'
import type { Claim, Row } from '#store/store.ts'

export interface RefusableClaim extends Claim {
  /** How the caller is refused when another resource holds the value; absent: the call is tried again. */
  readonly refusal?: ErrorName
  readonly field: string
  /** The value as the caller wrote it. */
  readonly shown: string
}

/** A resource that is about to be written: behaviours complete it, and refuse what the schema cannot. */
export class Draft {
  readonly kind: Kind
  readonly id: string
  /** As it will be kept. Secrets are in the clear until it is written. */
  readonly body: Body
  /** As it was kept before; absent on create. */
  readonly before: Body | undefined
  /** What the caller sent, checked against the schema. */
  readonly given: Body
  /** Fields that only the answer to this call shows. */
  readonly revealed: Body = {}
  readonly claims: RefusableClaim[] = []
  /** Resources that must not vanish while this one exists, beyond those its fields name. */
  readonly holds = new Set<string>()
  /** Rows on whose state a check relied: the write fails if one of them changed meanwhile. */
  readonly reliedOn = new Map<string, Row>()
  /** The row that this one cannot outlive. */
  parent: string | null = null

  constructor(start: {
    kind: Kind
    id: string
    body: Body
    before?: Body
    given: Body
    parent?: string | null
  }) {
    this.kind = start.kind
    this.id = start.id
    this.body = start.body
    this.before = start.before
    this.given = start.given
    this.parent = start.parent ?? null
  }

  /** The body with the types of its kind. */
  as<S extends Shape>(_kind: Kind<S>): Kept<S> {
    return this.body as Kept<S>
  }

  /** Makes `value` this resource's alone within the namespace. */
  claim(
    namespace: string,
    value: string,
    otherwise: { refusal?: ErrorName; field: string; shown?: string },
  ): void {
    this.claims.push({ namespace, value, shown: value, ...otherwise })
  }

  /** Is the module or field set by this call? */
  sets(name: string): boolean {
    return this.given[name] !== undefined && this.given[name] !== null
  }
}
