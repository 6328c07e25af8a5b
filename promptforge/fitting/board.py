"""The page that is being filled: what is on it, what it costs, and why anything is not on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .scale import FREE, UNLIMITED, Cost, Form, Part, Quotas, Scale, minus, plus, within


class Board:
    """The items that are shown. Prices of items roughly add up, so they guide; the measure of the page decides."""

    def __init__(self, scale: Scale, limit: Cost, quotas: Quotas) -> None:
        self.scale = scale
        self.limit = limit
        self.chosen: dict[int, Form] = {}
        self.reasons: dict[int, str] = {}
        self.twins: dict[int, int] = {}
        self.cost: Cost = FREE
        self._quotas = quotas
        self._spent = dict.fromkeys(quotas.most, 0.0)

    def put(self, index: int, form: Form, cost: Cost) -> None:
        """Show an item in a form; the page then costs `cost`."""
        self.remove(index)
        self.chosen[index], self.cost = form, cost
        self.reasons.pop(index, None)
        self._charge(index, form, 1)

    def remove(self, index: int) -> None:
        """Show an item no more. What the page costs then is not known."""
        form = self.chosen.pop(index, None)
        if form is not None:
            self._charge(index, form, -1)

    def drop(self, index: int, reason: str) -> None:
        """Say why an item is not shown, and with it those whose text it held."""
        self.remove(index)
        self.reasons[index] = reason
        for twin in [t for t, holder in self.twins.items() if holder == index]:
            del self.twins[twin]
            self.reasons[twin] = reason

    def drop_twin(self, index: int, holder: int) -> None:
        """Leave out an item whose text is in that of another."""
        self.remove(index)
        self.reasons[index] = "duplicate"
        self.twins |= dict.fromkeys([t for t, h in self.twins.items() if h == index], holder)
        self.twins[index] = holder

    def drop_twins(self, twins: Mapping[int, int]) -> None:
        """Leave out items whose text is in that of others, each with its holder."""
        for index, holder in twins.items():
            self.drop_twin(index, holder)

    def _charge(self, index: int, form: Form, sign: int) -> None:
        section = self._quotas.section.get(index)
        if section is not None:
            self._spent[section] += sign * self.scale.price(index, form)[0]

    def allowance(self, index: int) -> float:
        """Return the tokens that an item may cost, by what its section has left."""
        section = self._quotas.section.get(index)
        if section is None:
            return UNLIMITED
        form = self.chosen.get(index)
        own = self.scale.price(index, form)[0] if form is not None else 0
        return self._quotas.most[section] - self._spent[section] + own

    def places(self, part: Part) -> int | None:
        """Return how many more of a part may be shown; `None`: all. What may be shown anew takes no place."""
        if part.most is None or part.again:
            return part.most
        return max(0, part.most - sum(index in self.chosen for index in part.walk))

    # --- many at once -----------------------------------------------------------------------------------------------

    def distinct(
        self, walk: Sequence[int], again: bool = False
    ) -> tuple[dict[int, Form], dict[int, int]]:
        """Return the longest forms of `walk` without duplicates, and these with the holder of their text.

        What an earlier part showed of `walk` stays as it is and is not among them; with `again` it is shown no more.
        """
        before = [i for i in walk if i in self.chosen]
        if not again:
            walk = [i for i in walk if i not in self.chosen] if before else walk
        for index in before if again else ():
            self.remove(index)
        if before or not self.chosen:
            self.cost = self.scale.measure(self.chosen)
        beside = dict(self.chosen)
        found: dict[int, Form] = {}
        twins: dict[int, int] = {}
        for index in walk:
            if index in self.twins:
                continue
            holder, held = self.scale.twins(index, beside)
            if holder is not None:
                twins[index] = holder
                continue
            for other in held:
                if found.pop(other, None) is not None:
                    del beside[other]
                    twins[other] = index
            found[index] = beside[index] = self.scale.forms(index)[0]
        return found, twins

    def reach(self, forms: Iterable[tuple[int, Form]], limit: Cost) -> int:
        """Return how many of these, from the first, may have room together by what they cost at the least."""
        scale, room, count = self.scale, minus(limit, self.cost), 0
        for index, form in forms:
            if not scale.may_fit(index, form, plus(room, (scale.joint, 0))):
                break
            room = plus(minus(room, scale.price(index, form)), (scale.joint, 0))
            if room[0] < 0 or room[1] < 0:
                break
            count += 1
        return count

    def show(self, forms: Mapping[int, Form], limit: Cost) -> bool:
        """Show all of these if they fit, and their sections may take so much."""
        if self._quotas.most and not self._allowed(forms):
            return False
        cost = self.scale.measure({**self.chosen, **forms})
        if not within(cost, limit):
            return False
        for index, form in forms.items():
            self.put(index, form, cost)
        return True

    def _allowed(self, forms: Mapping[int, Form]) -> bool:
        spent = dict(self._spent)
        for index, form in forms.items():
            section = self._quotas.section.get(index)
            if section is not None and index not in self.chosen:
                spent[section] += self.scale.price(index, form)[0]
        return all(spent[section] <= most for section, most in self._quotas.most.items())

    def show_all(self, walk: Sequence[int], limit: Cost, again: bool = False) -> bool:
        """Show all of these whole if they fit, without duplicates."""
        forms = self.scale.forms
        wanted = [i for i in walk if i not in self.twins and (again or i not in self.chosen)]
        if all(self.chosen.get(i) == forms(i)[0] for i in wanted):
            return True
        room = limit
        for index in self.chosen.keys() & wanted:  # what they cost now they may cost anew
            room = plus(room, self.scale.price(index, self.chosen[index]))
        if self.reach(((i, forms(i)[0]) for i in wanted), room) < len(wanted):
            return False
        found, twins = self.distinct(walk, again)
        shown = self.show(found, limit)
        if shown:
            self.drop_twins(twins)
        return shown
