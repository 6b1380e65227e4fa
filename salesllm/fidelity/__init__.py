"""How human a simulated customer is: likeness to true turns, and how often it turns salesperson."""
