"""The cities of the made-up world: real ones, at their real places."""

from __future__ import annotations

import math
from typing import NamedTuple


class City(NamedTuple):
    name: str
    country: str
    lat: float
    lon: float
    utc_offset_min: int  # standard time; nobody here changes the clocks


def _city(name: str, country: str, lat: float, lon: float, hours: float) -> City:
    return City(name, country, lat, lon, int(hours * 60))


CITIES = [
    _city("Stockholm", "SE", 59.329, 18.069, 1), _city("Gothenburg", "SE", 57.709, 11.975, 1), _city("Malmo", "SE", 55.605, 13.004, 1),
    _city("Oslo", "NO", 59.914, 10.752, 1), _city("Copenhagen", "DK", 55.676, 12.568, 1), _city("Helsinki", "FI", 60.170, 24.938, 2),
    _city("Reykjavik", "IS", 64.147, -21.943, 0), _city("London", "GB", 51.507, -0.128, 0), _city("Edinburgh", "GB", 55.953, -3.188, 0),
    _city("Dublin", "IE", 53.350, -6.260, 0), _city("Paris", "FR", 48.857, 2.352, 1), _city("Lyon", "FR", 45.764, 4.836, 1),
    _city("Brussels", "BE", 50.850, 4.352, 1), _city("Amsterdam", "NL", 52.368, 4.904, 1), _city("Berlin", "DE", 52.520, 13.405, 1),
    _city("Hamburg", "DE", 53.551, 9.994, 1), _city("Munich", "DE", 48.135, 11.582, 1), _city("Zurich", "CH", 47.377, 8.542, 1),
    _city("Vienna", "AT", 48.208, 16.374, 1), _city("Prague", "CZ", 50.076, 14.438, 1), _city("Warsaw", "PL", 52.230, 21.012, 1),
    _city("Budapest", "HU", 47.498, 19.040, 1), _city("Rome", "IT", 41.903, 12.496, 1), _city("Milan", "IT", 45.464, 9.190, 1),
    _city("Madrid", "ES", 40.417, -3.704, 1), _city("Barcelona", "ES", 41.387, 2.170, 1), _city("Lisbon", "PT", 38.722, -9.139, 0),
    _city("Athens", "GR", 37.984, 23.728, 2), _city("Istanbul", "TR", 41.008, 28.978, 3), _city("Cairo", "EG", 30.044, 31.236, 2),
    _city("Lagos", "NG", 6.524, 3.379, 1), _city("Nairobi", "KE", -1.292, 36.822, 3), _city("Johannesburg", "ZA", -26.204, 28.047, 2),
    _city("Cape Town", "ZA", -33.925, 18.424, 2), _city("Dubai", "AE", 25.205, 55.271, 4), _city("Mumbai", "IN", 19.076, 72.878, 5.5),
    _city("Delhi", "IN", 28.614, 77.209, 5.5), _city("Bengaluru", "IN", 12.972, 77.594, 5.5), _city("Bangkok", "TH", 13.756, 100.502, 7),
    _city("Singapore", "SG", 1.352, 103.820, 8), _city("Jakarta", "ID", -6.208, 106.846, 7), _city("Hong Kong", "HK", 22.319, 114.169, 8),
    _city("Taipei", "TW", 25.033, 121.565, 8), _city("Seoul", "KR", 37.566, 126.978, 9), _city("Tokyo", "JP", 35.677, 139.650, 9),
    _city("Osaka", "JP", 34.694, 135.502, 9), _city("Sydney", "AU", -33.869, 151.209, 10), _city("Melbourne", "AU", -37.814, 144.963, 10),
    _city("Auckland", "NZ", -36.849, 174.763, 12), _city("Suva", "FJ", -18.125, 178.450, 12),
    _city("Honolulu", "US", 21.307, -157.858, -10),
    _city("San Francisco", "US", 37.775, -122.419, -8), _city("Los Angeles", "US", 34.052, -118.244, -8),
    _city("Denver", "US", 39.739, -104.990, -7), _city("Chicago", "US", 41.878, -87.630, -6), _city("Toronto", "CA", 43.653, -79.383, -5),
    _city("New York", "US", 40.713, -74.006, -5), _city("Mexico City", "MX", 19.433, -99.133, -6),
    _city("Bogota", "CO", 4.711, -74.072, -5),
    _city("Lima", "PE", -12.046, -77.043, -5), _city("Santiago", "CL", -33.449, -70.669, -4),
    _city("Sao Paulo", "BR", -23.551, -46.633, -3),
    _city("Buenos Aires", "AR", -34.604, -58.382, -3),
]  # fmt: skip


def far_apart_km(a: City, b: City) -> float:
    """As the crow flies, by the law of cosines: good to a kilometre, which is all that the world needs."""
    lat1, lat2 = math.radians(a.lat), math.radians(b.lat)
    cosine = math.sin(lat1) * math.sin(lat2) + math.cos(lat1) * math.cos(lat2) * math.cos(math.radians(b.lon - a.lon))
    return 6371.0 * math.acos(max(-1.0, min(1.0, cosine)))


# For each city the places of those so far away that no phone and no shop of theirs are within the limit of the location rule.
AWAY = [[there for there, b in enumerate(CITIES) if far_apart_km(a, b) > 250] for a in CITIES]
