"""What a run is told with: words, a terminal, JUnit, a difference. All read only results."""
