import type { ErrorName } from '#base/errors.ts'
import type { ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import type { Stored, Shape } from '#contract/shape.ts'
import type { Claim, Row } from '#store/store.ts'

export interface RefusableClaim extends Claim {
  /** The error when another resource holds the value; absent: the request is retried. */
  readonly refusal?: ErrorName
  readonly field: string
  /** The value as the caller wrote it. */
  readonly shown: string
}

/** A resource about to be written: behaviours complete it, and reject what the schema cannot. */
export class Draft {
  readonly kind: Kind
  readonly id: string
  /** As it will be stored. Secrets are plain text until it is written. */
  readonly body: ResourceBody
  /** As stored before; absent on create. */
  readonly before: ResourceBody | undefined
  /** The request body, validated. */
  readonly given: ResourceBody
  /** Fields that only this response shows. */
  readonly revealed: ResourceBody = {}
  readonly claims: RefusableClaim[] = []
  /** Resources that must not be deleted while this one exists, beyond those its fields name. */
  readonly holds = new Set<string>()
  /** Rows that a check relied on: the write fails if one of them changed meanwhile. */
  readonly reliedOn = new Map<string, Row>()
  /** The parent row. */
  parent: string | null = null

  constructor(start: {
    kind: Kind
    id: string
    body: ResourceBody
    before?: ResourceBody
    given: ResourceBody
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
  as<S extends Shape>(_kind: Kind<S>): Stored<S> {
    return this.body as Stored<S>
  }

  /** Claims `value` for this resource within the namespace. */
  claim(
    namespace: string,
    value: string,
    otherwise: { refusal?: ErrorName; field: string; shown?: string },
  ): void {
    this.claims.push({ namespace, value, shown: value, ...otherwise })
  }

  /** Whether this request sets the module or field. */
  sets(name: string): boolean {
    return this.given[name] !== undefined && this.given[name] !== null
  }
}
