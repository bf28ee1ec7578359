/** Where clients leave what another process needs to claim a hold: its token and the secret. */
export interface Ticket {
  readonly token: number;
  readonly secret: string;
}

const TICKETS_MAX = 8;

export class TicketBoard {
  #tickets: Ticket[] = [];

  get tickets(): readonly Ticket[] {
    return this.#tickets;
  }

  /** Old ones fall off. */
  post(ticket: Ticket): void {
    this.#tickets = [...this.#tickets, ticket].slice(-TICKETS_MAX);
  }
}
